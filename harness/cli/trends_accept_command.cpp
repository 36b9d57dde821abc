#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyse/history/history.hpp"
#include "analyse/trend/common_findings.hpp"
#include "analyse/trend/findings.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "cli/trends_commands.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark::cli {

using history::History;
using trend::Change;
using trend::DeviceHistory;
using trend::DeviceTrends;

HistoryTrends find_history_trends(History& history, const std::vector<history::DeviceBackend>& devices,
                                  const std::string& branch, const trend::TrendOptions& options,
                                  const std::function<void(DeviceTrends&)>& complete) {
  const trend::AllocationsAtPeak at_peak = [&history](const std::string& case_name, const std::string& run) {
    return history.at_peak(case_name, run);
  };
  const std::vector<trend::Notified> notified = history.notified();
  HistoryTrends all;
  all.histories.reserve(devices.size());  // `devices` refers to its elements
  all.devices.reserve(devices.size());
  for (const history::DeviceBackend& one : devices) {
    DeviceHistory& device = all.histories.emplace_back(history.read_device(one, branch));
    all.devices.push_back({&device, trend::find_trends(device, options, at_peak), {}, "", notified});
    if (complete) complete(all.devices.back());
    device.series = {};
    device.outcomes = {};
  }
  return all;
}

namespace {

struct AcceptOptions {
  std::string history;
  std::string pattern;  ///< of case names; empty: every case
  std::string reason;
  std::optional<std::string> metric;
  std::optional<std::string> from;
  std::optional<std::string> commit;
  std::optional<std::string> who;
  std::string branch;   ///< the branch whose run is accepted; empty: the base branch
  std::string finding;  ///< the beginning of its id; empty: any
  bool all = false;     ///< all cases of the findings that contain a matching case
  bool list = false;
  bool undo = false;
};

constexpr std::size_t kMinIdDigits = 4;

/// Returns the account that runs a CI job, which is public there; empty elsewhere, because reports are
/// published and the user name of a machine is private.
std::string ci_account() {
  for (const char* const variable : {"GITHUB_ACTOR", "GITLAB_USER_LOGIN"}) {
    const char* const name = std::getenv(variable);
    if (name != nullptr && *name != '\0') return name;
  }
  return "";
}

bool is_selected(const AcceptOptions& options, const std::string& case_name) {
  return options.pattern.empty() || matches_pattern(options.pattern, case_name);
}

bool is_of_commit(const AcceptOptions& options, const trend::HistoryRun& run) {
  return !options.commit || (!run.commit.empty() && run.commit.starts_with(*options.commit));
}

/// Returns true for a change that needs a decision: an open regression or a suspicion.
bool needs_decision(const Change& change) {
  return trend::is_open(change) || (change.verdict == trend::Verdict::suspicious && !change.state);
}

/// A change and the device on which it was found.
struct SelectedChange {
  const DeviceTrends* device;
  const Change* change;
};

/// Returns the open changes of the selected cases; with --all, of all findings that contain one of them; with
/// --finding, of this finding, on all of its devices.
std::vector<SelectedChange> selected_changes(const std::vector<DeviceTrends>& devices,
                                             const AcceptOptions& options) {
  const auto is_chosen = [&](const SelectedChange& one) {
    return is_selected(options, one.change->case_name) &&
           is_of_commit(options, one.device->history->runs[one.change->first]);
  };
  std::vector<SelectedChange> selected;
  if (!options.all && options.finding.empty()) {
    for (const DeviceTrends& device : devices) {
      for (const Change& change : device.trends.changes) {
        if (needs_decision(change) && is_chosen({&device, &change})) selected.push_back({&device, &change});
      }
    }
    return selected;
  }
  for (const trend::CommonFinding& finding : trend::find_common_findings(devices, needs_decision)) {
    if (!options.finding.empty() &&
        !trend::finding_id(finding, finding.device->notified).starts_with(options.finding))
      continue;
    std::vector<SelectedChange> changes;
    for (const trend::DeviceFinding& part : finding.parts) {
      for (const auto* const list : {&part.finding.changes, &part.finding.with_it}) {
        for (const Change* const change : *list) changes.push_back({part.device, change});
      }
    }
    if (std::ranges::any_of(changes, is_chosen)) std::ranges::copy(changes, std::back_inserter(selected));
  }
  return selected;
}

/// Returns an acceptance for each selected change, from the run at which it begins.
std::vector<trend::Acceptance> selected_acceptances(const std::vector<DeviceTrends>& devices,
                                                    const AcceptOptions& options) {
  std::vector<trend::Acceptance> acceptances;
  for (const auto& [device, change] : selected_changes(devices, options)) {
    if (options.metric && change->metric != *options.metric) continue;
    acceptances.push_back(
        {change->case_name, change->metric, device->history->runs[change->first].id, {}, {}, {}});
  }
  return acceptances;
}

/// Returns the user's selection, for messages.
std::string selection_text(const AcceptOptions& options) {
  std::vector<std::string> parts;
  if (!options.pattern.empty()) parts.push_back(options.pattern);
  if (options.metric) parts.push_back(*options.metric);
  if (options.commit) parts.push_back("commit " + *options.commit);
  if (!options.finding.empty()) parts.push_back("finding " + options.finding);
  return fmt::format("{}", fmt::join(parts, ", "));
}

void list_acceptances(History& history) {
  TextTable table({{"when"}, {"who"}, {"case"}, {"metric"}, {"from run"}, {"reason"}});
  const std::vector<trend::Acceptance> all = history.acceptances();
  for (const trend::AcceptedFinding& finding : trend::group_acceptances(all)) {
    const trend::Acceptance& one = *finding.acceptances.front();
    const std::string metrics = trend::metrics_text(finding);
    table.add({one.when.substr(0, 10), plain_text(one.who), plain_text(trend::cases_text(finding)),
               metrics.empty() ? "all" : metrics, plain_text(one.from_run), plain_text(one.reason)});
  }
  print_text(all.empty() ? "no accepted changes\n" : table.text());
}

/// Prints a line for each finding.
void print_findings(const char* what, const std::vector<trend::Acceptance>& acceptances) {
  for (const trend::AcceptedFinding& finding : trend::group_acceptances(acceptances)) {
    print_message(stderr, "{}: {}\n", what, plain_text(trend::to_text(finding)));
  }
}

void undo(History& history, const AcceptOptions& options) {
  std::map<std::string, trend::HistoryRun> runs;
  if (options.commit) {
    for (const history::LoggedRun& run : history.log()) runs[run.id].commit = run.commit;
  }
  std::vector<trend::Acceptance> undone;
  for (const trend::Acceptance& one : history.acceptances()) {
    if (!is_selected(options, one.case_name) || !is_of_commit(options, runs[one.from_run])) continue;
    if (options.metric && one.metric != *options.metric) continue;
    if (options.from && one.from_run != *options.from) continue;
    undone.push_back(one);
  }
  if (undone.empty()) {
    throw UsageError(fmt::format("no accepted change: {}. `peakmark trends accept --list` lists them",
                                 selection_text(options)));
  }
  history.remove_acceptances(undone);
  print_findings("no longer accepted", undone);
}

void check_usage(const AcceptOptions& options) {
  if (options.list) return;
  if (options.pattern.empty() && !options.commit && options.finding.empty())
    throw UsageError("no CASE: name a case, a pattern such as 'padding/*', --commit COMMIT or --finding ID");
  if (!options.finding.empty() && options.finding.size() < kMinIdDigits)
    throw UsageError(fmt::format("--finding {}: too short: write the first {} digits of the id or more",
                                 options.finding, kMinIdDigits));
  const bool is_pattern = options.pattern.find('*') != std::string::npos;
  if (options.from && !options.undo && (is_pattern || options.commit))
    throw UsageError("--from takes one CASE: leave out the pattern and --commit");
  if (!options.undo && options.reason.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw UsageError("--reason is missing: write why the change is intended, for readers of the history");
  }
  if (options.metric && std::ranges::find(trend::metric::all, *options.metric) == trend::metric::all.end()) {
    throw UsageError(fmt::format("--metric {}: no such metric; write one of {}", *options.metric,
                                 fmt::join(trend::metric::all, ", ")));
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
    const HistoryTrends trends =
        find_history_trends(*history, history->devices(options.branch), options.branch);
    acceptances = selected_acceptances(trends.devices, options);
    if (acceptances.empty()) {
      throw UsageError(
          fmt::format("no open change: {}. `peakmark trends` lists the open ones; --from RUN accepts the "
                      "level of one CASE without a change",
                      selection_text(options)));
    }
  }
  for (trend::Acceptance& acceptance : acceptances) {
    acceptance.who = options.who.value_or(ci_account());
    acceptance.when = utc_date();
    acceptance.reason = options.reason;
  }
  history->add_acceptances(acceptances);
  print_findings("accepted", acceptances);
}

}  // namespace

CLI::App* add_accept_command(CLI::App& trends) {
  const auto options = std::make_shared<AcceptOptions>();
  CLI::App* const command = trends.add_subcommand("accept", "Accept a change as intended, not a regression");
  command->add_option("CASE", options->pattern,
                      "A case, as `peakmark trends` prints it, or a pattern such as 'padding/*'");
  CLI::Option* const reason =
      command
          ->add_option("--reason", options->reason, "Record why the change is intended. Required to accept")
          ->type_name("TEXT");
  CLI::Option* const all =
      command->add_flag("--all", options->all, "Accept all cases of the finding that contains CASE");
  command
      ->add_option("--commit", options->commit, "Select changes of this commit; its first digits are enough")
      ->type_name("COMMIT");
  CLI::Option* const finding =
      command
          ->add_option("--finding", options->finding,
                       "Accept all of this finding, on all of its devices, by the id in `trends --json` and "
                       "in notifications")
          ->type_name("ID")
          ->check(kNotEmpty)
          ->excludes(all);
  CLI::Option* const branch =
      command
          ->add_option("--branch", options->branch,
                       "Accept what this branch changed, for `trends --branch`; after the merge accept it "
                       "again")
          ->type_name(value_name::kBranch);
  command
      ->add_option("--metric", options->metric, "Accept only this metric. Default: all with an open change")
      ->type_name(value_name::kMetric);
  command
      ->add_option("--from", options->from,
                   "Accept the level of CASE from this run on, even if no change was found")
      ->type_name("RUN_ID")
      ->excludes(all)
      ->excludes(finding)
      ->excludes(branch);
  CLI::Option* const who =
      command
          ->add_option("--who", options->who,
                       "Show this name in reports. Default: the account that runs the GitHub or GitLab job")
          ->type_name("NAME");
  CLI::Option* const undo =
      command->add_flag("--undo", options->undo, "Withdraw the acceptance of CASE, or of --commit");
  for (CLI::Option* const one : {reason, all, finding, branch, who}) undo->excludes(one);
  CLI::Option* const list = command->add_flag("--list", options->list, "List accepted changes");
  for (CLI::Option* const one : command->get_options()) {
    if (one != command->get_help_ptr() && one != list) list->excludes(one);
  }
  add_history_option(*command, options->history);
  set_help(*command, {.exit_codes = {{"0", "accepted, listed or withdrawn"},
                                     {"2", "wrong usage, or no such case, run or change"}}});
  command->callback([options] { accept(*options); });
  return command;
}

}  // namespace peakmark::cli
