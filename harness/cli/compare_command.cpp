#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "cli/command.hpp"
#include "compare/recordings.hpp"
#include "show/process_tree.hpp"

namespace peakmark::cli {
namespace {

struct Options {
  std::filesystem::path base;
  std::filesystem::path next;
  bool json = false;
};

void refuse_run(const std::filesystem::path& path) {
  std::ifstream file(path);
  char first = '\0';
  if (file >> first && first == '{') {
    throw UsageError(fmt::format(
        "{}: a run file; compare takes profiles, as `peakmark record -o NAME` writes them", path.string()));
  }
}

/// A process that was killed is compared up to its last event; one whose events are lost is not.
Recorded read_recorded(const std::filesystem::path& path) {
  refuse_run(path);
  const RecordedTree tree = read_tree(path);
  for (const RecordedProcess& process : tree.processes) {
    const std::string invalid = invalid_note(process.events);
    if (!invalid.empty()) throw RecorderError(fmt::format("{}: {}", process.path.string(), invalid));
    if (process.header.lost > 0) {
      throw RecorderError(fmt::format("{}: {} events found no room on the disk; record it again",
                                      process.path.string(), process.header.lost));
    }
    if (process.cut_short) {
      throw RecorderError(
          fmt::format("{}: the file is cut short, {} of its {} events are there; copy it again",
                      process.path.string(), process.events.size(), process.header.end));
    }
    if (!process.complete) {
      std::cerr << fmt::format("peakmark: {}: the program was killed or still runs; up to its last event\n",
                               process.path.string());
    }
  }
  const RecordedProcess& first = tree.processes.front();
  return {path.string(), fmt::format("{}", fmt::join(first.command_line, " ")), summarise_together(tree)};
}

void compare(const Options& options, Result& result) {
  const RecordingComparison comparison =
      compare_recordings(read_recorded(options.base), read_recorded(options.next));
  std::cout << (options.json ? comparison_json(comparison) : comparison_table(comparison));
  if (comparison.peak_grew()) result.code = ExitCode::verdict;
}

}  // namespace

void add_compare_command(CLI::App& app, Result& result) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "compare", "Two recordings side by side: their peaks, and the allocations live at one of them only");
  command->add_option("BASE", options->base, "A profile that `record` wrote")->required();
  command->add_option("NEW", options->next, "The profile to compare with it")->required();
  command->add_flag("--json", options->json, "The whole comparison as JSON");
  command->footer(
      "Exit code: 0 the peak did not grow, 1 it grew by at least a byte, 2 wrong usage, or a file cannot be\n"
      "read, 5 a recording is not whole.");
  command->callback([options, &result] { compare(*options, result); });
}

}  // namespace peakmark::cli
