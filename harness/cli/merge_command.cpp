#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "measure/runfile/merge.hpp"
#include "measure/runfile/run_summary.hpp"

namespace peakmark::cli {
namespace {

struct MergeOptions {
  std::vector<std::filesystem::path> runs;
  std::filesystem::path output;
};

/// Returns a warning if the date of a shard is in the future; else an empty text.
std::string clock_warning(const NamedRun& shard) {
  constexpr std::chrono::seconds kMaxSkew{60};
  const std::string& date = shard.run.context.date;
  if (date <= utc_date(std::chrono::system_clock::now() + kMaxSkew)) return {};
  return fmt::format(
      "{}: measured at {}, and now it is {} here: the clocks of the two machines differ; synchronise them. A "
      "history refuses runs from later than tomorrow",
      shard.path.filename().string(), date, utc_date());
}

/// Returns the run of a shard. An unreadable shard counts as missing, and the others are kept.
std::optional<Run> read_shard(const std::filesystem::path& path) {
  try {
    return read_run(path);
  } catch (const Error& error) {
    print_message(stderr, "warning: {}; its shard counts as missing\n", error.what());
    return std::nullopt;
  }
}

ExitCode merge(const MergeOptions& options) {
  for (const auto& path : options.runs) {
    std::error_code error;
    if (std::filesystem::equivalent(path, options.output, error)) {
      throw UsageError("-o " + options.output.string() +
                       ": is one of the shards and would be overwritten; name another file");
    }
  }
  set_run_file_aside(options.output);
  std::vector<NamedRun> shards;
  for (const auto& path : options.runs) {
    std::optional<Run> run = read_shard(path);
    if (!run) continue;
    // Each shard lists the cases of all others: one list is enough, and those of 100 shards would use much
    // memory.
    if (!shards.empty() && run->context.shard)
      std::vector<std::string>().swap(run->context.shard->other_cases);
    NamedRun& shard = shards.emplace_back(NamedRun{path, std::move(*run)});
    const std::string warning = clock_warning(shard);
    if (warning.empty()) continue;
    print_message(stderr, "warning: {}\n", warning);
    shard.run.context.warnings.push_back(warning);
  }
  const std::size_t parts = shards.size();
  const Run merged = merge_runs(std::move(shards));
  write_run(merged, options.output);
  remove_run_set_aside(options.output);
  print_message(stderr, "{} of {}; {}\n", quantity(merged.observations.size(), "case"),
                quantity(parts, "shard"), options.output.string());
  const std::string& partial = merged.context.partial;
  const bool is_partial = !partial.empty();
  if (is_partial) {
    print_message(
        stderr,
        "partial: {}; the run file has the other cases, and check and trends fail. Measure with --shard "
        "I/N, finish it with --resume, and merge again\n",
        partial);
  }
  if (!is_unmeasured(merged)) return is_partial ? ExitCode::measurement : ExitCode::clean;
  print_message(stderr, "nothing was measured: every case was skipped\n");
  return ExitCode::nothing;
}

}  // namespace

void add_merge_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<MergeOptions>();
  CLI::App* const command = app.add_subcommand("merge", "Merge the shards of a run");
  command->add_option("RUN", options->runs, "Run files of all shards")->required();
  command->add_option("-o,--output", options->output, "Write this run file")
      ->type_name(value_name::kRun)
      ->required()
      ->check(kFileName);
  set_help(
      *command,
      {.notes = {"If shards are missing, unfinished or unreadable, the run file has the cases of the others; "
                 "`check` and `trends` fail for it.",
                 "Rejects duplicate shards, and shards of different suites, devices, drivers or builds."},
       .exit_codes = {{"0", "clean"},
                      {"2", "wrong usage, rejected shards, or a file cannot be read or written"},
                      {"3", "a shard is missing; the run file has the others"},
                      {"4", "no shard measured anything"}}});
  command->callback([options, &result] { result.code = merge(*options); });
}

}  // namespace peakmark::cli
