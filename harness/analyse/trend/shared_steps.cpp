#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/trend/changes.hpp"
#include "analyse/trend/findings.hpp"

namespace peakmark::trend {
namespace {

constexpr std::size_t kMinCases = 5;
constexpr std::size_t kMinVariants = 2;
/// Minimum share of the judged cases that have the step.
constexpr double kMinShare = 0.9;

/// Returns the number of cases with a time in this run and enough runs before it.
std::size_t count_judged(const DeviceHistory& history, std::size_t run, std::size_t min_runs) {
  return static_cast<std::size_t>(std::ranges::count_if(history.series, [&](const Series& series) {
    if (series.metric != metric::gpu_time_ns || !series.values[run]) return false;
    std::size_t runs = 0;
    for (std::size_t before = 0; before < run && runs < min_runs; ++before)
      runs += series.values[before] ? 1 : 0;
    return runs == min_runs;
  }));
}

/// Changes in one direction that began within some runs.
struct Step {
  std::vector<Change*> changes;
  std::set<std::string_view> cases;
  std::set<std::string> variants;

  void add(Change* change) {
    changes.push_back(change);
    cases.insert(change->case_name);
    variants.insert(variant_name(change->case_name));
  }
};

}  // namespace

void mark_shared_steps(const DeviceHistory& history, std::size_t min_runs, std::vector<Change>& changes) {
  std::size_t number = 0;
  for (const bool is_slower : {true, false}) {
    std::vector<Change*> times;
    for (Change& change : changes) {
      if (change.metric == metric::gpu_time_ns && change.reference.empty() &&
          (change.after > change.before) == is_slower)
        times.push_back(&change);
    }
    std::ranges::stable_sort(times, {}, [](const Change* change) { return change->first; });
    for (auto begin = times.begin(); begin != times.end();) {
      const std::size_t first = (*begin)->first;
      const auto end = std::find_if(
          begin, times.end(), [&](const Change* one) { return one->first > first + kSameTimeChangeRuns; });
      const auto next = std::find_if(begin, end, [&](const Change* one) { return one->first > first; });
      Step step;
      std::for_each(begin, end, [&](Change* change) { step.add(change); });
      const std::size_t run = step.changes[step.changes.size() / 2]->first;
      begin = next;
      if (step.cases.size() < kMinCases || step.variants.size() < kMinVariants) continue;
      const std::size_t judged = std::max(count_judged(history, run, min_runs), step.cases.size());
      if (static_cast<double>(step.cases.size()) < kMinShare * static_cast<double>(judged)) continue;
      ++number;
      for (Change* const change : step.changes) change->shared = {number, run, step.cases.size(), judged};
      begin = end;
    }
  }
}

}  // namespace peakmark::trend
