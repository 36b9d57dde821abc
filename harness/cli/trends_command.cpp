#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "base/text_file.hpp"
#include "base/text_table.hpp"
#include "cli/allow_growth_option.hpp"
#include "cli/command.hpp"
#include "cli/file_name.hpp"
#include "cli/history_option.hpp"
#include "cli/output_file.hpp"
#include "cli/standard_output.hpp"
#include "cli/value_name.hpp"
#include "history/history.hpp"
#include "sweep/nearest_word.hpp"
#include "trend/findings.hpp"
#include "trend/reports.hpp"

namespace peakmark::cli {
namespace {

using history::History;
using trend::Change;
using trend::DeviceHistory;
using trend::DeviceTrends;

struct TrendsOptions {
  std::string history;
  bool json = false;
  std::optional<std::string> allow_growth;
  std::optional<std::filesystem::path> markdown;
};

std::vector<DeviceTrends> find(History& history, const std::vector<DeviceHistory>& devices,
                               const trend::TrendOptions& options = {}) {
  const trend::AllocationsAtPeak at_peak = [&history](const std::string& case_name, const std::string& run) {
    return history.at_peak(case_name, run);
  };
  std::vector<DeviceTrends> all;
  all.reserve(devices.size());
  for (const DeviceHistory& device : devices)
    all.push_back({&device, trend::find_trends(device, options, at_peak), {}});
  return all;
}

ExitCode show_trends(const TrendsOptions& options) {
  trend::TrendOptions trend_options;
  trend_options.allowed_growth = allowed_growth(options.allow_growth);
  if (options.markdown) remove_earlier_outputs({*options.markdown}, {options.history});
  const auto history = open_history(options.history, History::Purpose::read);
  const std::vector<DeviceHistory> devices = history->read();
  std::vector<DeviceTrends> trends = find(*history, devices, trend_options);
  for (DeviceTrends& device : trends) {
    device.statuses = trend::find_case_statuses(*device.history, device.trends,
                                                [&](const std::string& id) { return history->run(id); });
  }
  if (options.markdown) replace_text_file(*options.markdown, trend::trends_markdown(trends));
  print_text(options.json ? trend::trends_json(trends) : trend::trends_table(trends));
  const bool is_open = std::ranges::any_of(
      trends, [](const DeviceTrends& device) { return trend::has_open_regression(device.trends); });
  return is_open ? ExitCode::verdict : ExitCode::clean;
}

struct AcceptOptions {
  std::string history;
  std::string pattern;  ///< of case names; empty: every case
  std::string reason;
  std::optional<std::string> metric;
  std::optional<std::string> from;
  std::optional<std::string> commit;
  std::optional<std::string> who;
  bool all = false;  ///< of the finding that a matching case is in
  bool list = false;
  bool undo = false;
};

/// The account that runs a job of CI, which everybody sees there; empty elsewhere: reports are published, and
/// a user's name of this machine is not.
std::string who_am_i() {
  for (const char* const variable : {"GITHUB_ACTOR", "GITLAB_USER_LOGIN"}) {
    const char* const name = std::getenv(variable);
    if (name != nullptr && *name != '\0') return name;
  }
  return "";
}

bool is_meant(const AcceptOptions& options, const std::string& case_name) {
  return options.pattern.empty() || matches_pattern(options.pattern, case_name);
}

bool is_of_commit(const AcceptOptions& options, const trend::HistoryRun& run) {
  return !options.commit || (!run.commit.empty() && run.commit.starts_with(*options.commit));
}

/// Changes that wait for somebody: open regressions and suspicions.
std::vector<const Change*> waiting_changes(const DeviceTrends& device) {
  std::vector<const Change*> waiting;
  for (const Change& change : device.trends.changes) {
    const bool is_suspicion = change.verdict == trend::Verdict::suspicious && !change.state;
    if (trend::is_open(change) || is_suspicion) waiting.push_back(&change);
  }
  return waiting;
}

/// Those that the options mean: of their cases, or with --all of the whole findings that have one of them.
std::vector<const Change*> meant_changes(const DeviceTrends& device, const AcceptOptions& options) {
  const auto is_chosen = [&](const Change* change) {
    return is_meant(options, change->case_name) && is_of_commit(options, device.history->runs[change->first]);
  };
  std::vector<const Change*> meant;
  if (!options.all) {
    std::ranges::copy_if(waiting_changes(device), std::back_inserter(meant), is_chosen);
    return meant;
  }
  for (const trend::Finding& finding : trend::find_findings(waiting_changes(device))) {
    if (std::ranges::none_of(finding.changes, is_chosen) && std::ranges::none_of(finding.with_it, is_chosen))
      continue;
    for (const auto* const part : {&finding.changes, &finding.with_it})
      meant.insert(meant.end(), part->begin(), part->end());
  }
  return meant;
}

/// The runs from which on levels are to be accepted.
std::vector<trend::Acceptance> acceptances_of(const std::vector<DeviceTrends>& devices,
                                              const AcceptOptions& options) {
  std::vector<trend::Acceptance> acceptances;
  for (const DeviceTrends& device : devices) {
    for (const Change* const change : meant_changes(device, options)) {
      if (options.metric && change->metric != *options.metric) continue;
      acceptances.push_back(
          {change->case_name, change->metric, device.history->runs[change->first].id, {}, {}, {}});
    }
  }
  return acceptances;
}

/// What was typed, for messages.
std::string what_was_meant(const AcceptOptions& options) {
  std::string text = options.pattern.empty() ? "every case" : options.pattern;
  if (options.metric) text += ", " + *options.metric;
  if (options.commit) text += ", commit " + *options.commit;
  return text;
}

void list_acceptances(History& history) {
  TextTable table({{"when"}, {"who"}, {"case"}, {"metric"}, {"from run"}, {"reason"}});
  const std::vector<trend::Acceptance> all = history.acceptances();
  for (const trend::Acceptance& one : all) {
    table.add({one.when.substr(0, 10), plain_text(one.who), plain_text(one.case_name),
               one.metric.empty() ? "every one" : one.metric, plain_text(one.from_run),
               plain_text(one.reason)});
  }
  print_text(all.empty() ? "no change is accepted\n" : table.text());
}

void undo(History& history, const AcceptOptions& options) {
  std::map<std::string, trend::HistoryRun> runs;
  if (options.commit) {
    for (const history::LoggedRun& run : history.log()) runs[run.id].commit = run.commit;
  }
  std::vector<trend::Acceptance> undone;
  for (const trend::Acceptance& one : history.acceptances()) {
    if (!is_meant(options, one.case_name) || !is_of_commit(options, runs[one.from_run])) continue;
    if (options.metric && one.metric != *options.metric) continue;
    if (options.from && one.from_run != *options.from) continue;
    undone.push_back(one);
  }
  if (undone.empty()) {
    throw UsageError(
        fmt::format("{}: nothing of it is accepted; `peakmark trends accept --list` shows what is",
                    what_was_meant(options)));
  }
  history.remove_acceptances(undone);
  for (const trend::Acceptance& one : undone) {
    print_message(stderr, "no longer accepted: {} {} from {} on\n", one.case_name,
                  one.metric.empty() ? "(every metric)" : one.metric, one.from_run);
  }
}

void check_usage(const AcceptOptions& options) {
  if (options.list) {
    if (options.undo || options.all || !options.pattern.empty())
      throw UsageError("--list shows everything that is accepted: name nothing else");
    return;
  }
  if (options.pattern.empty() && !options.commit)
    throw UsageError("name a CASE, a pattern such as 'padding/*', or --commit COMMIT");
  if (options.undo && (options.all || !options.reason.empty()))
    throw UsageError("--undo takes no --all and no --reason");
  const bool is_pattern = options.pattern.find('*') != std::string::npos;
  if (options.from && !options.undo && (is_pattern || options.all || options.commit))
    throw UsageError("--from accepts the level of one CASE: no pattern, --all or --commit goes with it");
  if (!options.undo && options.reason.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw UsageError("--reason: say why; whoever reads the history later will want to know");
  }
  if (options.metric && std::ranges::find(trend::metric::all, *options.metric) == trend::metric::all.end()) {
    throw UsageError(
        fmt::format("--metric {}: there are {}", *options.metric, fmt::join(trend::metric::all, ", ")));
  }
}

void accept(const AcceptOptions& options) {
  check_usage(options);
  const auto history =
      open_history(options.history, options.list ? History::Purpose::read : History::Purpose::change);
  if (options.list) return list_acceptances(*history);
  if (options.undo) return undo(*history, options);
  std::vector<trend::Acceptance> acceptances;
  if (options.from) {
    acceptances.push_back({options.pattern, options.metric.value_or(""), *options.from, {}, {}, {}});
  } else {
    const std::vector<DeviceHistory> devices = history->read();
    acceptances = acceptances_of(find(*history, devices), options);
    if (acceptances.empty()) {
      throw UsageError(fmt::format(
          "{}: no open change; `peakmark trends` names the cases that have one, and --from RUN accepts the "
          "level of a case from a run on whether a change was found or not",
          what_was_meant(options)));
    }
  }
  for (trend::Acceptance& acceptance : acceptances) {
    acceptance.who = options.who.value_or(who_am_i());
    acceptance.when = utc_date();
    acceptance.reason = options.reason;
  }
  history->add_acceptances(acceptances);
  for (const trend::Acceptance& acceptance : acceptances) {
    print_message(stderr, "accepted: {} {} from {} on{}\n", acceptance.case_name,
                  acceptance.metric.empty() ? "(every metric)" : acceptance.metric, acceptance.from_run,
                  acceptance.who.empty() ? "" : ", by " + acceptance.who);
  }
}

void add_accept_command(CLI::App& trends) {
  const auto options = std::make_shared<AcceptOptions>();
  CLI::App* const command =
      trends.add_subcommand("accept", "Record a change as intended: it is no regression");
  command->add_option("CASE", options->pattern,
                      "A case, as `peakmark trends` prints it, or a pattern: 'padding/*'");
  command->add_option("--reason", options->reason, "Why it is intended; needed to accept");
  command->add_flag("--all", options->all, "Every case of the finding that CASE is in");
  command->add_option("--commit", options->commit, "Only changes of this commit, or its first digits");
  command->add_option("--metric", options->metric, "Only this metric of the case; default: every open one")
      ->type_name("{requested_peak_bytes,setup_bytes,leaked_bytes,gpu_time_ns,estimate_ratio}");
  command->add_option("--from", options->from, "Run id: the level from this run on, found or not");
  command->add_option(
      "--who", options->who,
      "Who accepts, shown in reports; default: the account that runs the job of GitHub or GitLab");
  command->add_flag("--list", options->list, "Print what is accepted, and change nothing");
  command->add_flag("--undo", options->undo, "Accept no longer what was accepted for CASE, or --commit");
  add_history_option(*command, options->history);
  command->footer("Exit code: 0 accepted, listed or undone, 2 there is no such case, run or change.");
  command->callback([options] { accept(*options); });
}

}  // namespace

void add_trends_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<TrendsOptions>();
  CLI::App* const command =
      app.add_subcommand("trends", "What changed over the runs of a history: bytes, times, estimates");
  command->require_subcommand(0, 1);
  add_accept_command(*command);
  add_history_option(*command, options->history);
  add_allow_growth_option(*command, options->allow_growth);
  command->add_flag("--json", options->json, "Print all of it as JSON instead of tables");
  command->add_option("--markdown", options->markdown, "Write a summary in markdown")
      ->type_name(value_name::kFile)
      ->check(kFileName);
  command->footer(
      "Bytes change on the night they change. Times change when a second measurement of the night (`run "
      "--confirm`),\n"
      "or the next night, says so too; until then they are suspicious.\n"
      "Exit code: 0 clean, also without a baseline, 1 a confirmed regression is open: neither accepted nor "
      "undone,\n"
      "2 wrong usage, or the history cannot be read.");
  command->callback([options, command, &result] {
    if (command->get_subcommands().empty()) result.code = show_trends(*options);
  });
}

}  // namespace peakmark::cli
