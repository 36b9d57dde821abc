#include "analyse/trend/trends.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "analyse/trend/branches.hpp"
#include "analyse/trend/changes.hpp"
#include "base/error.hpp"
#include "measure/runfile/merge.hpp"
#include "measure/runfile/observation.hpp"
#include "measure/sweep/description.hpp"

namespace peakmark::trend {

Plans::Plans(const DeviceHistory& history) : history_(history) {
  for (const HistoryRun& run : history.runs) {
    if (!run.filter || filters_.contains(*run.filter)) continue;
    try {
      filters_.emplace(*run.filter, Pattern(*run.filter));
    } catch (const UsageError& error) {
      throw UsageError("the history of " + history.device + " is damaged: run " + run.id +
                       " has a filter that is not a regular expression: " + error.what());
    }
  }
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> numbers;
  plan_of_run_.reserve(history.runs.size());
  for (const HistoryRun& run : history.runs)
    plan_of_run_.push_back(numbers.try_emplace({run.suite, run.fingerprint}, numbers.size()).first->second);
  plans_ = numbers.size();
}

Plans::CasePlan& Plans::plan_of(const CaseOutcomes& of) const {
  if (last_.of == &of) return last_;
  last_ = {&of, std::vector<bool>(plans_), true, {}};
  for (std::size_t run = 0; run < of.outcomes.size(); ++run) {
    if (!of.outcomes[run]) continue;
    last_.is_in_plan[plan_of_run_[run]] = true;
    if (!history_.runs[run].asked_backend) last_.is_of_asked_backends = false;
  }
  return last_;
}

bool Plans::is_excluded(const CaseOutcomes& of, const HistoryRun& run) const {
  if (!run.partial.empty()) return true;  // else a case of a missing shard would leave its suite
  const std::string& case_name = of.case_name;
  CasePlan& plan = plan_of(of);
  if (run.filter) {
    const Pattern& filter = filters_.at(*run.filter);
    const auto [found, is_new] = plan.is_found.try_emplace(&filter);
    if (is_new) found->second = filter.is_in(case_name);
    if (!found->second) return true;
  }
  if (run.asked_backend && case_backend(case_name) != *run.asked_backend) return true;
  if (!run.asked_backend && plan.is_of_asked_backends) return true;
  if (!run.rounds || !run.rounds->variants) return false;
  const auto& [before, after] = *run.rounds->variants;
  return !case_name.starts_with(before + "/") && !case_name.starts_with(after + "/");
}

bool Plans::covers(const CaseOutcomes& of, std::size_t run) const {
  if (of.outcomes[run]) return true;
  const HistoryRun& candidate = history_.runs[run];
  if (is_excluded(of, candidate)) return false;
  if (candidate.fingerprint.empty()) return true;
  return !plan_of(of).is_in_plan[plan_of_run_[run]];
}

bool Plans::is_last(const std::string& case_name, std::size_t run) const {
  const auto of = std::ranges::lower_bound(history_.outcomes, case_name, {}, &CaseOutcomes::case_name);
  const bool is_known = of != history_.outcomes.end() && of->case_name == case_name;
  for (std::size_t later = run + 1; later < history_.runs.size(); ++later) {
    if (history_.runs[later].suite != history_.runs[run].suite) continue;
    if (!is_known || covers(*of, later)) return false;
  }
  return true;
}

std::size_t Plans::last(const CaseOutcomes& of, const std::string& suite) const {
  std::size_t run = history_.runs.size() - 1;
  while (history_.runs[run].suite != suite || !covers(of, run)) --run;
  return run;
}

namespace {

void check(const DeviceHistory& history) {
  const auto check_length = [&](std::size_t length, const std::string& whose) {
    if (length == history.runs.size()) return;
    throw UsageError("the history of " + history.device + " is damaged: " + whose + " has " +
                     std::to_string(length) + " values, " + std::to_string(history.runs.size()) +
                     " runs are known");
  };
  for (const Series& series : history.series) {
    check_length(series.values.size(), series.case_name + ", " + series.metric);
    if (!series.confirmations.empty()) {
      check_length(series.confirmations.size(), series.case_name + ", second measurements");
    }
  }
  for (const CaseOutcomes& one : history.outcomes) {
    check_length(one.outcomes.size(), one.case_name);
    if (!one.is_expected.empty()) check_length(one.is_expected.size(), one.case_name + ", expected outcomes");
  }
}

void add_allocations(const DeviceHistory& history, const AllocationsAtPeak& at_peak, Change& change) {
  if (!at_peak || change.metric != metric::requested_peak_bytes) return;
  const std::vector<PeakEntry> before = at_peak(change.case_name, history.runs[change.last_before].id);
  const std::vector<PeakEntry> after = at_peak(change.case_name, history.runs[change.first].id);
  if (before.empty() && after.empty()) return;  // unknown
  change.allocations = moved_allocations(before, after);
}

void add_environment(const std::vector<EnvironmentChange>& environment, Change& change) {
  for (const EnvironmentChange& one : environment) {
    if (one.run <= change.last_before || one.run > change.first) continue;
    if (std::ranges::find(change.environment, one.what) == change.environment.end()) {
      change.environment.push_back(one.what);
    }
  }
}

/// Returns true if an earlier run of the suite covers the case and lacks it.
bool is_new(const DeviceHistory& history, const Plans& plans, const CaseOutcomes& one, std::size_t run) {
  for (std::size_t before = 0; before < run; ++before) {
    if (history.runs[before].suite == history.runs[run].suite && plans.covers(one, before)) return true;
  }
  return false;
}

/// Returns true if no run between these two covers the case.
bool is_news(const Plans& plans, const CaseOutcomes& one, std::size_t last_planned, std::size_t last_run) {
  for (std::size_t run = last_planned + 1; run < last_run; ++run) {
    if (plans.covers(one, run)) return false;
  }
  return true;
}

/// Finds cases that only the last run of their suite has, or that their suite no longer has.
void find_new_and_left(const DeviceHistory& history, const Plans& plans, Trends& trends) {
  for (const CaseOutcomes& one : history.outcomes) {
    const std::optional<std::size_t> last_planned = one.last_planned();
    if (!last_planned) continue;
    const auto first =
        std::ranges::find_if(one.outcomes, [](const auto& outcome) { return outcome.has_value(); });
    const auto first_planned = static_cast<std::size_t>(first - one.outcomes.begin());
    const std::size_t last_run = plans.last(one, history.runs[*last_planned].suite);
    if (first_planned == last_run && is_new(history, plans, one, last_run))
      trends.new_cases.push_back(
          {one.case_name, first_planned,
           one.version_before ? new_series_text(*one.version_before, one.version) : ""});
    if (*last_planned < last_run) {
      trends.left_suite.push_back(
          {one.case_name, *last_planned, is_news(plans, one, *last_planned, last_run)});
    }
  }
}

/// Removes what the base branch changed: a branch is judged by its own changes.
void keep_own_changes(const DeviceHistory& history, Trends& trends) {
  const std::size_t first = history.first_of_branch();
  std::erase_if(trends.changes, [&](const Change& change) { return change.first < first; });
  std::erase_if(trends.left_suite, [](const LeftSuite& one) { return !one.is_news; });
  std::erase_if(trends.environment_changes, [&](const EnvironmentChange& one) { return one.run < first; });
}

}  // namespace

namespace {

/// Returns the larger one of the allowances of the options and of the suite, at the first level of the
/// series.
const GrowthAllowance& allowance_of(const DeviceHistory& history, const Series& series,
                                    const TrendOptions& options) {
  const auto found = history.allowances.find(series.case_name);
  const auto first = std::ranges::find_if(series.values, [](const auto& value) { return value.has_value(); });
  if (found == history.allowances.end() || first == series.values.end()) return options.allowed_growth;
  const auto level = static_cast<Size>(**first);
  return found->second.of(level) > options.allowed_growth.of(level) ? found->second : options.allowed_growth;
}

}  // namespace

Trends find_trends(const DeviceHistory& history, const TrendOptions& options,
                   const AllocationsAtPeak& at_peak) {
  check(history);
  Trends trends;
  trends.allowance = options.allowed_growth;
  for (const CaseOutcomes& one : history.outcomes)
    std::ranges::move(find_outcome_changes(one), std::back_inserter(trends.changes));
  for (const Series& series : history.series) {
    if (series.metric == metric::gpu_time_ns || metric::is_reported(series.metric)) continue;
    ExactChanges found = find_exact_changes(history, series, allowance_of(history, series, options));
    std::ranges::move(found.changes, std::back_inserter(trends.changes));
    if (found.allowed_growth) trends.allowed_growth.push_back(std::move(*found.allowed_growth));
  }
  const Plans plans(history);
  TimeTrends times = find_time_changes(history, plans, options);
  std::ranges::move(times.changes, std::back_inserter(trends.changes));
  trends.not_enough_data = std::move(times.not_enough_data);
  trends.to_measure_again = std::move(times.to_measure_again);
  std::ranges::stable_sort(trends.changes, {}, &Change::raised);

  mark_shared_steps(history, options.detector.min_runs, trends.changes);
  apply_acceptances(history, trends.changes);
  trends.environment_changes = find_environment_changes(history.runs);
  for (Change& change : trends.changes) {
    add_allocations(history, at_peak, change);
    add_environment(trends.environment_changes, change);
    change.is_news = plans.is_last(change.case_name, change.raised);
  }
  find_new_and_left(history, plans, trends);
  if (!history.base_runs.empty()) keep_own_changes(history, trends);
  return trends;
}

std::vector<std::string> uncompared(const DeviceHistory& history) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < history.base_runs.size(); ++i) {
    const BaseRun& base = history.base_runs[i];
    if (!base.run) lines.push_back(to_text(base, history));
    if (base.run && history.runs[history.first_of_branch() + i].begins_new_series)
      lines.push_back(to_text(base, history) + ": not compared: each case begins a new series");
  }
  if (!history.base_runs.empty() || history.runs.empty()) return lines;
  std::map<std::string_view, std::vector<std::size_t>> runs_of_suites;
  for (std::size_t run = 0; run < history.runs.size(); ++run)
    runs_of_suites[history.runs[run].suite].push_back(run);
  if (runs_of_suites.size() == history.runs.size())
    return {"not compared: " + history.device + " has one run of each suite"};
  const bool has_compared = std::ranges::any_of(runs_of_suites, [&](const auto& of_suite) {
    return of_suite.second.size() > 1 && !history.runs[of_suite.second.back()].begins_new_series;
  });
  if (!has_compared)
    lines.push_back("not compared: " + history.device +
                    " has one run of each suite, or each case of its newest one begins a new series");
  return lines;
}

bool is_current(const DeviceHistory& history, std::size_t run) {
  return run + kCurrentRuns >= history.runs.size();
}

bool is_recent_improvement(const DeviceHistory& history, const Change& change) {
  const bool is_good = change.verdict == Verdict::improvement || change.verdict == Verdict::recovery;
  return is_good && change.state == State::past && is_current(history, change.first);
}

bool is_open(const Change& change) {
  return change.verdict == Verdict::regression && change.state == State::open;
}

bool needs_action(const Change& change) {
  return is_open(change) || (change.verdict == Verdict::suspicious && !change.state && change.is_news);
}

bool has_open_regression(const Trends& trends) {
  return std::ranges::any_of(trends.changes, is_open);
}

}  // namespace peakmark::trend
