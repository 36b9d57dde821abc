#include "analyse/trend/pruning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace peakmark::trend {
namespace {

class Kept {
 public:
  explicit Kept(const DeviceHistory& history) : history_(history) {}

  void add(std::size_t run) { ids_.insert(history_.runs[run].id); }
  void add_with_the_one_before(std::size_t run) {
    add(run);
    if (run > 0) add(run - 1);
  }

  /// Adds each run whose value differs from the previous value, and the run of that previous value.
  template <typename T>
  void add_changes(const std::vector<std::optional<T>>& values) {
    std::optional<std::size_t> before;
    for (std::size_t run = 0; run < values.size(); ++run) {
      if (!values[run]) continue;
      if (before && *values[run] != *values[*before]) {
        add(*before);
        add(run);
      }
      before = run;
    }
  }

  /// Adds the newest `count` runs before `end` that have a value.
  void add_newest(const Series& series, std::size_t end, std::size_t count) {
    for (std::size_t run = end; run-- > 0 && count > 0;) {
      if (!series.values[run]) continue;
      add(run);
      --count;
    }
  }

  [[nodiscard]] const std::set<std::string>& ids() const { return ids_; }

 private:
  const DeviceHistory& history_;
  std::set<std::string> ids_;
};

const Series* find_series(const DeviceHistory& history, const Change& change) {
  const auto found = std::ranges::find_if(history.series, [&](const Series& one) {
    return one.case_name == change.case_name && one.metric == change.metric;
  });
  return found == history.series.end() ? nullptr : &*found;
}

void keep_for_changes(const DeviceHistory& history, const std::vector<Change>& changes, std::size_t baseline,
                      Kept& kept) {
  for (const Change& change : changes) {
    kept.add(change.first);
    kept.add(change.last_before);
    const Series* const series = find_series(history, change);
    if (!is_open(change) || series == nullptr || metric::is_exact(change.metric)) continue;
    kept.add_newest(*series, history.runs.size(), series->values.size() - change.first);
    kept.add_newest(*series, change.first, baseline);
  }
}

using OpenRegression = std::pair<std::string, std::string>;  // case, metric

std::set<OpenRegression> open_regressions(const std::vector<Change>& changes) {
  std::set<OpenRegression> open;
  for (const Change& change : changes) {
    if (is_open(change)) open.emplace(change.case_name, change.metric);
  }
  return open;
}

std::vector<OpenRegression> lost(const std::set<OpenRegression>& before, const DeviceHistory& rest,
                                 const TrendOptions& options) {
  const std::set<OpenRegression> after = open_regressions(find_trends(rest, options).changes);
  std::vector<OpenRegression> lost;
  std::ranges::set_difference(before, after, std::back_inserter(lost));
  return lost;
}

}  // namespace

DeviceHistory pruned(const DeviceHistory& history, const std::string& date,
                     const std::set<std::string>& stays) {
  std::vector<std::size_t> kept;
  for (std::size_t run = 0; run < history.runs.size(); ++run) {
    if (history.runs[run].date >= date || stays.contains(history.runs[run].id)) kept.push_back(run);
  }
  return with_runs(history, kept);
}

std::set<std::string> runs_to_keep(const DeviceHistory& history, const std::string& date,
                                   const TrendOptions& options) {
  const std::size_t baseline = options.detector.baseline_runs;
  Kept kept(history);
  std::set<std::string> suites;
  for (std::size_t run = history.runs.size(); run-- > 0;) {
    if (suites.insert(history.runs[run].suite).second) kept.add(run);
  }
  for (const Series& series : history.series) {
    if (metric::is_reported(series.metric)) continue;
    if (series.metric == metric::gpu_time_ns) {
      kept.add_newest(series, series.values.size(), baseline);
    } else {
      kept.add_changes(series.values);
    }
  }
  for (const CaseOutcomes& one : history.outcomes) kept.add_changes(one.outcomes);
  for (const Acceptance& acceptance : history.acceptances) {
    if (const auto run = find_run(history, acceptance.from_run)) kept.add_with_the_one_before(*run);
  }
  const std::vector<Change> changes = find_trends(history, options).changes;
  keep_for_changes(history, changes, baseline, kept);

  const std::set<OpenRegression> open = open_regressions(changes);
  for (const auto& [case_name, metric] : lost(open, pruned(history, date, kept.ids()), options)) {
    for (const Series& series : history.series) {
      if (series.case_name == case_name && series.metric == metric)
        kept.add_newest(series, series.values.size(), series.values.size());
    }
  }
  if (const auto still = lost(open, pruned(history, date, kept.ids()), options); !still.empty()) {
    throw UsageError(fmt::format(
        "pruning runs before {} would lose an open regression: {} of {} ({} in all); accept it with "
        "`peakmark trends accept`, or choose an earlier date",
        date, still[0].second, still[0].first, still.size()));
  }
  return kept.ids();
}

}  // namespace peakmark::trend
