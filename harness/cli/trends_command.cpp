#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "base/text_file.hpp"
#include "base/text_table.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "explain/changed_formulas.hpp"
#include "explain/reports.hpp"
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
  trend::TrendOptions trend;
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

/// The formulas of variants in runs of a history, each found once.
class HistoryFormulas {
 public:
  explicit HistoryFormulas(History& history) : history_(history) {}

  const Run& run(const std::string& id) {
    const auto [found, is_new] = runs_.try_emplace(id);
    if (is_new) found->second = history_.run(id);
    return found->second;
  }

  /// Empty if no case of the variant has an allocation sequence.
  const std::vector<VariantFormulas>& formulas(const std::string& run_id, const std::string& variant) {
    const auto [found, is_new] = explained_.try_emplace({run_id, variant});
    Explained& explained = found->second;
    if (!is_new) return explained.formulas;
    for (const Observation& observation : run(run_id).observations) {
      if (observation.variant == variant && observation.allocation_sequence)
        explained.cases.observations.push_back(observation);
    }
    if (!explained.cases.observations.empty())
      explained.formulas = explain_cases(group_cases(explained.cases));
    return explained.formulas;
  }

  /// Returns the causes of the wrong estimates of a variant, a line each.
  const std::vector<std::string>& causes(const std::string& run_id, const std::string& variant) {
    const auto [found, is_new] = causes_.try_emplace({run_id, variant});
    if (is_new) found->second = find_causes(run(run_id), variant);
    return found->second;
  }

 private:
  struct Explained {
    Run cases;  ///< of the variant; `formulas` refer to it
    std::vector<VariantFormulas> formulas;
  };

  static std::vector<std::string> find_causes(const Run& run, const std::string& variant) {
    const std::set<std::string> estimators = answered_estimators(run, variant);
    std::vector<VariantEstimator> asked;
    asked.reserve(estimators.size());
    for (const std::string& estimator : estimators) asked.push_back({variant, estimator});
    FormulaReport report = explain_estimators(run, asked);
    std::ranges::stable_sort(report.findings, {}, &EstimatorFindings::estimator);
    std::vector<std::string> lines;
    for (const EstimatorFindings& one : report.findings) {
      for (const EstimateCause& cause : one.causes)
        lines.push_back(one.estimator + ": " + cause_line(report.variants[one.variant], cause));
    }
    return lines;
  }

  History& history_;
  std::map<std::string, Run> runs_;
  std::map<std::pair<std::string, std::string>, Explained> explained_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> causes_;
};

/// Adds what became of formulas to the changes of peaks that are reported.
void add_formulas(HistoryFormulas& formulas, DeviceTrends& device) {
  const std::vector<trend::HistoryRun>& runs = device.history->runs;
  for (Change& change : device.trends.changes) {
    if (change.metric != trend::metric::requested_peak_bytes || !(trend::is_open(change) || change.is_news))
      continue;
    const std::string& run = runs[change.first].id;
    const std::vector<Observation>& observations = formulas.run(run).observations;
    const auto one = std::ranges::find(observations, change.case_name, &Observation::case_name);
    if (one == observations.end() || !one->allocation_sequence) continue;
    change.formulas = changed_formula_lines(formulas.formulas(runs[change.last_before].id, one->variant),
                                            formulas.formulas(run, one->variant), one->axes);
  }
}

/// Adds why estimates outside their window are wrong.
void add_causes(HistoryFormulas& formulas, DeviceTrends& device) {
  std::map<std::string_view, const trend::CaseOutcomes*> outcomes;
  for (const trend::CaseOutcomes& one : device.history->outcomes) outcomes.emplace(one.case_name, &one);
  for (trend::CaseStatus& status : device.statuses) {
    if (status.state != trend::CaseState::window) continue;
    const auto& of_case = outcomes.at(status.case_name)->outcomes;
    const auto last =
        std::find_if(of_case.rbegin(), of_case.rend(), [](const auto& one) { return one.has_value(); });
    const auto run = static_cast<std::size_t>(of_case.rend() - last) - 1;
    status.causes = formulas.causes(device.history->runs[run].id, trend::variant_name(status.case_name));
  }
}

ExitCode show_trends(const TrendsOptions& options) {
  if (options.markdown) remove_earlier_outputs({*options.markdown}, {options.history});
  const auto history = open_history(options.history, History::Purpose::read);
  const std::vector<DeviceHistory> devices = history->read();
  std::vector<DeviceTrends> trends = find(*history, devices, options.trend);
  for (DeviceTrends& device : trends) {
    device.statuses = trend::find_case_statuses(*device.history, device.trends,
                                                [&](const std::string& id) { return history->run(id); });
    HistoryFormulas formulas(*history);
    add_formulas(formulas, device);
    add_causes(formulas, device);
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
  bool all = false;  ///< all cases of the findings that contain a matching case
  bool list = false;
  bool undo = false;
};

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

/// Returns the changes that need a decision: open regressions and suspicions.
std::vector<const Change*> open_changes(const DeviceTrends& device) {
  std::vector<const Change*> open;
  for (const Change& change : device.trends.changes) {
    const bool is_suspicion = change.verdict == trend::Verdict::suspicious && !change.state;
    if (trend::is_open(change) || is_suspicion) open.push_back(&change);
  }
  return open;
}

/// Returns the open changes of the selected cases; with --all, of all findings that contain one of them.
std::vector<const Change*> selected_changes(const DeviceTrends& device, const AcceptOptions& options) {
  const auto is_chosen = [&](const Change* change) {
    return is_selected(options, change->case_name) &&
           is_of_commit(options, device.history->runs[change->first]);
  };
  std::vector<const Change*> selected;
  if (!options.all) {
    std::ranges::copy_if(open_changes(device), std::back_inserter(selected), is_chosen);
    return selected;
  }
  for (const trend::Finding& finding : trend::find_findings(open_changes(device))) {
    if (std::ranges::none_of(finding.changes, is_chosen) && std::ranges::none_of(finding.with_it, is_chosen))
      continue;
    for (const auto* const part : {&finding.changes, &finding.with_it})
      selected.insert(selected.end(), part->begin(), part->end());
  }
  return selected;
}

/// Returns an acceptance for each selected change, from the run at which it begins.
std::vector<trend::Acceptance> selected_acceptances(const std::vector<DeviceTrends>& devices,
                                                    const AcceptOptions& options) {
  std::vector<trend::Acceptance> acceptances;
  for (const DeviceTrends& device : devices) {
    for (const Change* const change : selected_changes(device, options)) {
      if (options.metric && change->metric != *options.metric) continue;
      acceptances.push_back(
          {change->case_name, change->metric, device.history->runs[change->first].id, {}, {}, {}});
    }
  }
  return acceptances;
}

/// Returns what was typed, for messages.
std::string selection_text(const AcceptOptions& options) {
  std::vector<std::string> parts;
  if (!options.pattern.empty()) parts.push_back(options.pattern);
  if (options.metric) parts.push_back(*options.metric);
  if (options.commit) parts.push_back("commit " + *options.commit);
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
  if (options.list) {
    if (options.undo || options.all || !options.pattern.empty())
      throw UsageError("--list lists all accepted changes; it takes no CASE, --all or --undo");
    return;
  }
  if (options.pattern.empty() && !options.commit)
    throw UsageError("no CASE: name a case, a pattern such as 'padding/*', or --commit COMMIT");
  if (options.undo && (options.all || !options.reason.empty()))
    throw UsageError("--undo takes no --all and no --reason");
  const bool is_pattern = options.pattern.find('*') != std::string::npos;
  if (options.from && !options.undo && (is_pattern || options.all || options.commit))
    throw UsageError("--from takes one CASE; it takes no pattern, --all or --commit");
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
    const std::vector<DeviceHistory> devices = history->read();
    acceptances = selected_acceptances(find(*history, devices), options);
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

void add_accept_command(CLI::App& trends) {
  const auto options = std::make_shared<AcceptOptions>();
  CLI::App* const command = trends.add_subcommand("accept", "Accept a change as intended, not a regression");
  command->add_option("CASE", options->pattern,
                      "A case, as `peakmark trends` prints it, or a pattern such as 'padding/*'");
  command->add_option("--reason", options->reason, "Record why the change is intended. Required to accept")
      ->type_name("TEXT");
  command->add_flag("--all", options->all, "Accept all cases of the finding that contains CASE");
  command
      ->add_option("--commit", options->commit, "Select changes of this commit; its first digits are enough")
      ->type_name("COMMIT");
  command
      ->add_option("--metric", options->metric, "Accept only this metric. Default: all with an open change")
      ->type_name(value_name::kMetric);
  command
      ->add_option("--from", options->from,
                   "Accept the level of CASE from this run on, even if no change was found")
      ->type_name("RUN_ID");
  command
      ->add_option("--who", options->who,
                   "Show this name in reports. Default: the account that runs the GitHub or GitLab job")
      ->type_name("NAME");
  command->add_flag("--list", options->list, "List accepted changes");
  command->add_flag("--undo", options->undo, "Withdraw the acceptance of CASE, or of --commit");
  add_history_option(*command, options->history);
  set_help(*command, {.exit_codes = {{"0", "accepted, listed or withdrawn"},
                                     {"2", "wrong usage, or no such case, run or change"}}});
  command->callback([options] { accept(*options); });
}

}  // namespace

void add_trends_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<TrendsOptions>();
  CLI::App* const command =
      app.add_subcommand("trends", "Find changes of bytes, times and estimates in a history");
  command->require_subcommand(0, 1);
  add_accept_command(*command);
  add_history_option(*command, options->history);
  add_allow_growth_option(*command, options->trend.allowed_growth);
  command->add_flag("--json", options->json, "Print the changes as JSON");
  add_file_option(*command, "--markdown", options->markdown, "Write a summary in markdown");
  set_help(
      *command,
      {.notes =
           {"A change of bytes counts at once. A change of times is suspicious until a second measurement "
            "of the run (`run --confirm`) or the next run confirms it."},
       .exit_codes = {{"0", "clean, also without a baseline"},
                      {"1", "a confirmed regression is open: neither accepted nor resolved"},
                      {"2", "wrong usage, or the history cannot be read"}}});
  command->callback([options, command, &result] {
    if (command->get_subcommands().empty()) result.code = show_trends(*options);
  });
}

}  // namespace peakmark::cli
