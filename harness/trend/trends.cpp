#include "trend/trends.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "runfile/observation.hpp"
#include "trend/change_finders.hpp"

namespace peakmark::trend {
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
  for (const CaseOutcomes& one : history.outcomes) check_length(one.outcomes.size(), one.case_name);
}

void add_allocations(const DeviceHistory& history, const AllocationsAtPeak& at_peak, Change& change) {
  if (!at_peak || change.metric != metric::requested_peak_bytes) return;
  const std::vector<Allocation> before = at_peak(change.case_name, history.runs[change.last_before].id);
  const std::vector<Allocation> after = at_peak(change.case_name, history.runs[change.first].id);
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

/// Whether a run of the suite before this one, which has the case, can tell that it was not there yet.
bool is_new(const DeviceHistory& history, const Plans& plans, const CaseOutcomes& one, std::size_t run) {
  for (std::size_t before = 0; before < run; ++before) {
    if (history.runs[before].suite == history.runs[run].suite && plans.can_tell(one, before)) return true;
  }
  return false;
}

/// Whether no run between these two can tell that the case is gone.
bool is_news(const Plans& plans, const CaseOutcomes& one, std::size_t last_measured, std::size_t last_run) {
  for (std::size_t run = last_measured + 1; run < last_run; ++run) {
    if (plans.can_tell(one, run)) return false;
  }
  return true;
}

/// Cases that the last run of their suite does not have, or has for the first time; of runs that were asked
/// for other cases nothing follows.
void find_comings_and_goings(const DeviceHistory& history, const Plans& plans, Trends& trends) {
  for (const CaseOutcomes& one : history.outcomes) {
    std::optional<std::size_t> first_planned;
    std::optional<std::size_t> last_measured;
    for (std::size_t run = 0; run < one.outcomes.size(); ++run) {
      if (!one.outcomes[run]) continue;
      if (!first_planned) first_planned = run;
      if (*one.outcomes[run] == to_string(Outcome::ok)) last_measured = run;
    }
    if (!first_planned) continue;
    const std::string& suite = history.runs[last_measured.value_or(*first_planned)].suite;
    const std::size_t last_run = plans.last(one, suite);
    if (*first_planned == last_run && is_new(history, plans, one, last_run)) {
      trends.new_cases.push_back({one.case_name, *first_planned});
    }
    if (last_measured && *last_measured != last_run) {
      trends.vanished.push_back({one.case_name, *last_measured, one.outcomes[last_run],
                                 is_news(plans, one, *last_measured, last_run)});
    }
  }
}

}  // namespace

Trends find_trends(const DeviceHistory& history, const TrendOptions& options,
                   const AllocationsAtPeak& at_peak) {
  check(history);
  Trends trends;
  trends.allowance = options.allowed_growth;
  for (const Series& series : history.series) {
    if (series.metric == metric::gpu_time_ns) continue;
    ExactChanges found = find_exact_changes(history, series, options.allowed_growth);
    std::ranges::move(found.changes, std::back_inserter(trends.changes));
    if (found.allowed_growth) trends.allowed_growth.push_back(std::move(*found.allowed_growth));
  }
  const Plans plans(history);
  TimeTrends times = find_time_changes(history, plans, options);
  std::ranges::move(times.changes, std::back_inserter(trends.changes));
  trends.not_enough_data = std::move(times.not_enough_data);
  trends.to_measure_again = std::move(times.to_measure_again);
  std::ranges::stable_sort(trends.changes, {}, &Change::raised);

  apply_acceptances(history, trends.changes);
  trends.environment_changes = find_environment_changes(history.runs);
  for (Change& change : trends.changes) {
    add_allocations(history, at_peak, change);
    add_environment(trends.environment_changes, change);
    change.is_news = plans.is_last(change.case_name, change.raised);
  }
  find_comings_and_goings(history, plans, trends);
  return trends;
}

bool is_open(const Change& change) {
  return change.verdict == Verdict::regression && change.state == State::open;
}

bool needs_a_look(const Change& change) {
  return is_open(change) || (change.verdict == Verdict::suspicious && !change.state && change.is_news);
}

bool has_open_regression(const Trends& trends) {
  return std::ranges::any_of(trends.changes, is_open);
}

}  // namespace peakmark::trend
