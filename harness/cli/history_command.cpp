#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyse/history/history.hpp"
#include "analyse/trend/pruning.hpp"
#include "base/report.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/history_commands.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark::cli {
namespace {

using history::History;
using json_fields::Json;
using json_fields::pretty;

// log

struct LogOptions {
  std::string history;
  std::size_t max = 20;
  std::string branch;
  bool all = false;
  bool json = false;
};

const Fields<history::LoggedRun>& log_fields() {
  using Run = history::LoggedRun;
  static const auto commit = [](const Run& run) { return short_commit(run.commit); };
  static const Fields<Run> fields{{"date", As::text, &Run::date, "date"},
                                  {"run", As::text, &Run::id, "run"},
                                  {"commit", As::text, commit},
                                  {"", As::hidden, &Run::commit, "commit"},
                                  {"branch", As::text, &Run::branch, "branch"},
                                  {"suite", As::text, &Run::suite, "suite"},
                                  {"device", As::text, &Run::device, "device"},
                                  {"backend", As::text, &Run::backend, "backend"},
                                  {"driver", As::text, &Run::driver, "driver"},
                                  {"build", As::text, &Run::build, "build"},
                                  {"", As::hidden, &Run::host_name, "host_name"},
                                  {"cases", As::number, &Run::cases, "cases"},
                                  {"ok", As::number, &Run::ok, "ok"}};
  return fields;
}

void log(const LogOptions& options) {
  const auto history = open_history(options.history, History::Purpose::read);
  std::vector<history::LoggedRun> runs = history->log();
  if (!options.branch.empty())
    std::erase_if(runs, [&](const history::LoggedRun& run) { return run.branch != options.branch; });
  const std::size_t count = runs.size();
  std::ranges::reverse(runs);
  if (!options.all && runs.size() > options.max) runs.resize(options.max);
  if (!options.json) {
    print_text(rows_text(log_fields(), runs) +
               fmt::format("\n{}{}\n", quantity(count, "run"),
                           runs.size() < count ? fmt::format(", {} shown", runs.size()) : ""));
    return;
  }
  print_text(pretty(
      {{"history", history->address().name()}, {"count", count}, {"runs", rows_json(log_fields(), runs)}}));
}

void add_log_command(CLI::App& app) {
  const auto options = std::make_shared<LogOptions>();
  CLI::App* const command = app.add_subcommand("log", "List runs and their ids, newest first");
  add_history_option(*command, options->history);
  CLI::Option* const max = command->add_option("-n", options->max, "List at most this many runs")
                               ->type_name("INT")
                               ->capture_default_str();
  command->add_option("--branch", options->branch, "List runs of this branch only")
      ->type_name(value_name::kBranch);
  command->add_flag("--all", options->all, "List all runs")->excludes(max);
  command->add_flag("--json", options->json, "Print the list as JSON");
  set_help(*command, {.exit_codes = {{"0", "clean"}, {"2", "the history cannot be read"}}});
  command->callback([options] { log(*options); });
}

// prune

struct PruneOptions {
  std::string history;
  std::optional<int> days;
  std::string before;  ///< as RunContext::date
  bool branches = false;
  std::string branch;
  bool dry = false;
};

history::PruneChoice prune_choice(const PruneOptions& options) {
  if (!options.branch.empty()) return {.branch = options.branch, .dry = options.dry};
  if (!options.days && options.before.empty())
    throw UsageError("no age: write --older-than DAYS or --before DATE");
  const std::string date = options.days
                               ? utc_date(std::chrono::system_clock::now() - std::chrono::days(*options.days))
                               : options.before;
  return {.date = date, .branches_only = options.branches, .branch = {}, .dry = options.dry};
}

void prune(const PruneOptions& options) {
  const history::PruneChoice choice = prune_choice(options);
  const auto history = open_history(options.history, History::Purpose::change);
  const history::Pruned pruned = history->prune(
      choice, [&](const trend::DeviceHistory& device) { return trend::runs_to_keep(device, choice.date); });
  for (const std::string& run : pruned.runs) print_text(run + "\n");
  print_message(stderr, "{}: {} {} {}; {} {} that verdicts need\n", history->address().name(),
                options.dry ? "would remove" : "removed", quantity(pruned.runs.size(), "run"),
                choice.branch.empty() ? "from before " + choice.date : "of branch '" + choice.branch + "'",
                options.dry ? "would keep" : "kept", quantity(pruned.kept, "older run"));
}

void add_prune_command(CLI::App& app) {
  const auto options = std::make_shared<PruneOptions>();
  CLI::App* const command =
      app.add_subcommand("prune", "Remove old runs that no verdict needs, and runs of branches");
  add_history_option(*command, options->history);
  CLI::Option* const branch =
      command->add_option("--branch", options->branch, "Remove all runs of this branch, such as pull/12")
          ->type_name(value_name::kBranch);
  CLI::Option* const days =
      command->add_option("--older-than", options->days, "Remove runs older than this many days")
          ->type_name("DAYS")
          ->check(CLI::Range(0, 100'000))
          ->excludes(branch);
  add_parsed_option(
      *command, "--before", [options](const std::string& text) { options->before = parse_date_text(text); },
      "Remove runs before this day or time (UTC), such as 2026-01-31")
      ->type_name("DATE")
      ->excludes(branch)
      ->excludes(days);
  command
      ->add_flag("--branches", options->branches,
                 "Remove only runs of branches and pull requests, none of the base branch")
      ->excludes(branch);
  command->add_flag("--dry-run", options->dry, "List the runs, and remove nothing");
  set_help(
      *command,
      {.notes =
           {"Prints the ids of the removed runs. Keeps what verdicts need: the newest run of each suite; "
            "the newest 120 times of each case; the runs at which bytes, outcome or estimate changed or "
            "a change was accepted, with the run before each; and for an open regression of times, the "
            "120 runs before it and all runs since.",
            "Of branches other than the base branch, every run of that age is removed."},
       .exit_codes = {{"0", "clean"}, {"2", "wrong usage, or the history cannot be read or written"}}});
  command->callback([options] { prune(*options); });
}

// rename-device

struct RenameOptions {
  std::string history;
  std::string device;
  std::string known;
};

void add_rename_command(CLI::App& app) {
  const auto options = std::make_shared<RenameOptions>();
  CLI::App* const command =
      app.add_subcommand("rename-device", "Continue the series of a device under its earlier name");
  command->add_option("DEVICE", options->device, "The present name in runs")->required();
  command->add_option("KNOWN", options->known, "The name under which its series continue")->required();
  add_history_option(*command, options->history);
  set_help(*command,
           {.exit_codes = {{"0", "clean"}, {"2", "wrong usage, or the history cannot be read or written"}}});
  command->callback([options] {
    open_history(options->history, History::Purpose::change)->rename_device(options->device, options->known);
  });
}

}  // namespace

void add_history_command(CLI::App& app, Result& /*result*/) {
  CLI::App* const command = app.add_subcommand("history", "Keep runs over time");
  command->require_subcommand(1);
  add_create_command(*command);
  add_add_command(*command);
  add_import_command(*command);
  add_set_command(*command);
  add_log_command(*command);
  add_export_command(*command);
  add_prune_command(*command);
  add_remove_command(*command);
  add_rename_command(*command);
  set_help(*command,
           {.exit_codes = {{"0", "clean"},
                           {"2", "wrong usage, or a run or the history cannot be read or written"}}});
}

}  // namespace peakmark::cli
