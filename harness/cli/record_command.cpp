#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/file_name.hpp"
#include "cli/usage_message.hpp"
#include "record/record_program.hpp"

namespace peakmark::cli {
namespace {

struct Options {
  std::string program;
  std::filesystem::path profile = "peakmark.profile";
  bool sync = false;
  bool stacks = false;
};

/// What CLI11 does not know it leaves to the program, wherever it stood: before the program it is a mistake.
void refuse_unknown_options(const CLI::App& command, const std::vector<std::string>& words) {
  bool is_value = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (std::exchange(is_value, false)) continue;
    if (word == "--" || word.size() < 2 || word.front() != '-') return;
    const std::string name = word.substr(0, word.starts_with("--") ? word.find('=') : 2);  // -oFILE
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option == nullptr) throw UsageError("record: " + no_such_option(command, name));
    is_value = option->get_items_expected() > 0 && word == name;
  }
}

void record(const Options& options, std::vector<std::string> arguments, Result& result) {
  // The mark that ends our own options; a second one is the program's.
  if (!arguments.empty() && arguments.front() == "--") arguments.erase(arguments.begin());
  RecordRequest request{{options.program}, options.profile, options.sync, options.stacks};
  request.command.insert(request.command.end(), arguments.begin(), arguments.end());
  const Recording recording = record_program(request, find_recorder_libraries());
  result.program_code = recording.program_code;
  if (!recording.trouble.empty()) {
    std::fprintf(stderr, "peakmark: %s\n", recording.trouble.c_str());
    result.code = ExitCode::recorder;
  } else if (isatty(STDERR_FILENO) != 0) {
    std::fprintf(stderr, "peakmark: recorded; see it with: peakmark show %s\n", options.profile.c_str());
  }
}

}  // namespace

void add_record_command(CLI::App& app, Result& result) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("record",
                                         "Run any program, unchanged, and record its device memory: peakmark "
                                         "record [-o PROFILE] -- PROGRAM ARGS...");
  command
      ->add_option("-o,--output", options->profile, "The profile to write; further processes: PROFILE.<pid>")
      ->capture_default_str()
      ->check(kFileName);
  command->add_flag(
      "--sync", options->sync,
      "Finish the queue after each enqueue, so that the peak of an asynchronous program repeats");
  command->add_flag("--stacks", options->stacks,
                    "Record the call stack of each allocation, native and Python: see show --by site");
  // The arguments are what is left over: as values of an option, CLI11 would take `[a,b]` apart.
  command->add_option("PROGRAM", options->program, "The program; all that follows is its own")->required();
  command->prefix_command();
  command->footer(
      "Exit code: the program's own when it is not 0 (128 + signal, 127 not found); 5 when no recorder came "
      "up,\n"
      "with a line that says why; else 0.");
  command->callback([command, options, &result] {
    refuse_unknown_options(*command, result.words);
    record(*options, command->remaining(), result);
  });
}

}  // namespace peakmark::cli
