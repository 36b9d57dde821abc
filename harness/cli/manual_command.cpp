#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text_file.hpp"
#include "cli/command.hpp"
#include "cli/command_words.hpp"
#include "cli/file_name.hpp"
#include "cli/standard_output.hpp"
#include "cli/value_name.hpp"
#include "sweep/nearest_word.hpp"

namespace peakmark::cli {
namespace {

struct ManualOptions {
  std::vector<std::string> command;
  std::filesystem::path folder;
};

void write_all(const CommandWords& program, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const CommandWords* command : all_commands(program)) {
    replace_text_file(folder / (page_name(*command) + ".1"),
                      manual_page(program, *command, PEAKMARK_VERSION));
  }
}

const CommandWords& find_command(const CommandWords& program, const std::vector<std::string>& words) {
  const CommandWords* command = &program;
  for (const std::string& word : words) {
    const auto found = std::ranges::find(command->commands, word, &CommandWords::own_name);
    if (found == command->commands.end()) {
      std::vector<std::string> names;
      for (const CommandWords& below : command->commands) names.emplace_back(below.own_name());
      throw UsageError(fmt::format("manual: no command '{}'{}", word, suggest_word(word, names)));
    }
    command = &*found;
  }
  return *command;
}

void manual(const CLI::App& app, const ManualOptions& options) {
  const CommandWords program = words_of(app);
  if (!options.folder.empty()) return write_all(program, options.folder);
  print_text(manual_page(program, find_command(program, options.command), PEAKMARK_VERSION));
}

}  // namespace

void add_manual_command(CLI::App& app, Result& /*result*/) {
  const auto options = std::make_shared<ManualOptions>();
  CLI::App* const command = app.add_subcommand("manual", "Print a command's manual page, for man to show");
  CLI::Option* const words = command->add_option(value_name::kCommand, options->command,
                                                 "Such as run, or history add; none: peakmark itself");
  command->add_option("--all", options->folder, "Write the pages of all commands into this folder instead")
      ->check(kFileName)
      ->type_name(value_name::kFolder)
      ->excludes(words);
  command->footer(
      "To read one: `peakmark manual run | man -l -`.\n"
      "An installed peakmark has brought them into share/man/man1 of its prefix, where `man peakmark-run` "
      "finds them.\n"
      "Exit code: 0 clean, 2 wrong usage, or a page cannot be written.");
  command->callback([&app, options] { manual(app, *options); });
}

}  // namespace peakmark::cli
