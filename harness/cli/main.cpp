#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "analyse/history/address.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/command_words.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"

namespace peakmark::cli {
namespace {

HelpText program_help() {
  return {
      .notes = {"`peakmark COMMAND --help` prints the options of a command."},
      .exit_codes = {{"0", "clean"},
                     {"1", "a verdict failed"},
                     {"2", "wrong usage or input"},
                     {"3", "a measurement failed"},
                     {"4", "nothing was measured"},
                     {"5", "the recorder could not work"},
                     {"130", "interrupted"}},
      .sections = {
          {"Environment",
           {{"PEAKMARK_HISTORY", "default of --history: a SQLite file or postgresql://…"},
            {"PEAKMARK_REQUIRE", "default of --require: cuda or gpu"},
            {"PEAKMARK_ENVIRONMENTS",
             "folder of the Python environments that suites name; default: build/environments"},
            {"PEAKMARK_PYTHON", "Python of `plot` and `report`; default: python3"},
            {"PEAKMARK_LIBRARY_DIR", "folder of the recorders; default: lib/peakmark next to the program"}}},
          {"Files",
           {{"share/peakmark/suites", "shipped suites, and the JSON schema of suites for editors"},
            {"share/peakmark/reports", "Python programs of `plot` and `report`, and their requirements"},
            {"share/peakmark/python", "Python module of marks and estimators"}}}}};
}

int run(int argc, char** argv) {
  CLI::App app("Measure and check device memory, run times and memory estimators of GPU kernels", "peakmark");
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", PEAKMARK_VERSION, "Print the version");
  app.require_subcommand(1);
  app.fallthrough(false);
  app.failure_message(usage_message);
  set_help(app, program_help());
  Result result;
  result.words.assign(argv + (argc > 0 ? 1 : 0), argv + argc);
  for (int i = 1; i < argc; ++i) history::hide_password_of_argument(argv[i]);
  for (AddCommand* const add : kAddCommands) add(app, result);
  if (complete_words(app, result.words)) return 0;

  try {
    std::vector<std::string> words = separate_program(app, result.words);
    std::ranges::reverse(words);  // CLI11 takes them in reverse order
    app.parse(std::move(words));
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;
    const int code = app.exit(success, text);
    print_text(text.str());
    return code;
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return static_cast<int>(ExitCode::usage);
  }
  return result.program_code != 0 ? result.program_code : static_cast<int>(result.code);
}

}  // namespace
}  // namespace peakmark::cli

int main(int argc, char** argv) {
  // Makes a file beyond the limit of `ulimit -f` an error of write(), as on a full disk. Started programs get
  // the default again.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int code = peakmark::cli::run(argc, argv);
    peakmark::cli::check_output();
    return code;
  } catch (const std::exception& error) {
    const std::string message = peakmark::history::hide_passwords(peakmark::final_message(error));
    std::fprintf(stderr, "peakmark: %s\n", peakmark::plain_text(message).c_str());
    return static_cast<int>(peakmark::exit_code_of(error));
  }
}
