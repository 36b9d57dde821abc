#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/standard_output.hpp"
#include "cli/usage_message.hpp"
#include "history/address.hpp"

namespace {

/// Headings with indented names below them become sections of the manual page (manual_page.cpp).
constexpr const char* kFooter =
    "Exit code: 0 clean, 1 a verdict failed, 2 wrong usage or input, 3 a measurement failed, 4 nothing was\n"
    "measured, 5 the recorder could not work, 130 interrupted.\n"
    "\n"
    "Environment:\n"
    "  PEAKMARK_HISTORY       the history where --history names none: a SQLite file or postgresql://…\n"
    "  PEAKMARK_REQUIRE       cuda or gpu, as --require\n"
    "  PEAKMARK_ENVIRONMENTS  folder of the Python environments that suites name; else build/environments\n"
    "  PEAKMARK_PYTHON        the Python of `plot` and `report`; else python3\n"
    "  PEAKMARK_LIBRARY_DIR   folder of the recorders; else lib/peakmark beside the program\n"
    "\n"
    "Files:\n"
    "  share/peakmark/suites   shipped suites, and the schema by which editors complete and check suites\n"
    "  share/peakmark/reports  the plots and pages of `plot` and `report`, in Python, and what they require\n"
    "  share/peakmark/python   the Python module of marks and estimators";

int run(int argc, char** argv) {
  using peakmark::ExitCode;
  CLI::App app("Device memory peaks, run times and estimators of GPU kernels, measured and checked",
               "peakmark");
  app.set_version_flag("--version", PEAKMARK_VERSION);
  app.require_subcommand(1);
  app.fallthrough(false);
  app.footer(kFooter);
  app.failure_message(peakmark::cli::usage_message);
  peakmark::cli::Result result;
  result.words.assign(argv + (argc > 0 ? 1 : 0), argv + argc);
  for (int i = 1; i < argc; ++i) peakmark::history::hide_password_of_argument(argv[i]);

  // The commands, in the order of the work.
  peakmark::cli::add_init_command(app, result);
  peakmark::cli::add_devices_command(app, result);
  peakmark::cli::add_doctor_command(app, result);
  peakmark::cli::add_list_command(app, result);
  peakmark::cli::add_run_command(app, result);
  peakmark::cli::add_merge_command(app, result);
  peakmark::cli::add_estimate_command(app, result);
  peakmark::cli::add_check_command(app, result);
  peakmark::cli::add_plot_command(app, result);
  peakmark::cli::add_record_command(app, result);
  peakmark::cli::add_show_command(app, result);
  peakmark::cli::add_compare_command(app, result);
  peakmark::cli::add_history_command(app, result);
  peakmark::cli::add_trends_command(app, result);
  peakmark::cli::add_report_command(app, result);
  peakmark::cli::add_redact_command(app, result);
  peakmark::cli::add_schema_command(app, result);
  peakmark::cli::add_completion_command(app, result);
  peakmark::cli::add_manual_command(app, result);

  try {
    std::vector<std::string> words = peakmark::cli::with_program_apart(app, result.words);
    std::ranges::reverse(words);  // as CLI11 takes them
    app.parse(std::move(words));
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;
    const int code = app.exit(success, text);
    peakmark::cli::print_text(text.str());
    return code;
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return static_cast<int>(ExitCode::usage);
  }
  return result.program_code != 0 ? result.program_code : static_cast<int>(result.code);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    peakmark::cli::check_output();
    return code;
  } catch (const std::exception& error) {
    const std::string message = peakmark::history::hide_passwords(peakmark::final_message(error));
    std::fprintf(stderr, "peakmark: %s\n", peakmark::plain_text(message).c_str());
    return static_cast<int>(peakmark::exit_code_of(error));
  }
}
