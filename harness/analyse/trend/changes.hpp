#pragma once

// Internal to this module: plans, changes of single series and of the environment.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analyse/trend/series.hpp"
#include "analyse/trend/trends.hpp"
#include "base/pattern.hpp"

namespace peakmark::trend {

/// Determines which runs of a device should have a case. A run without the case need not have it if
/// - its filter, its variants or its `--backend` exclude the case;
/// - it had no `--backend`, and only runs with one, which adds cases to the suite, had the case;
/// - its suite, by the fingerprint, is that of a run that had the case: something else excluded it.
class Plans {
 public:
  explicit Plans(const DeviceHistory& history);

  /// Returns true if the run has the case, or would have it if its suite did.
  [[nodiscard]] bool covers(const CaseOutcomes& of, std::size_t run) const;
  /// Returns true if no later run of the same suite covers the case.
  [[nodiscard]] bool is_last(const std::string& case_name, std::size_t run) const;
  /// Returns the last run of the suite that covers the case. There must be one.
  [[nodiscard]] std::size_t last(const CaseOutcomes& of, const std::string& suite) const;

 private:
  /// Facts about a case that every run needs. They are found in one pass; otherwise each run would need a
  /// pass over all runs.
  struct CasePlan {
    const CaseOutcomes* of = nullptr;
    std::vector<bool> is_in_plan;             ///< by the numbers of plan_of_run_
    bool is_of_asked_backends = true;         ///< only runs with `--backend` had it
    std::map<const Pattern*, bool> is_found;  ///< by the filters used so far
  };
  /// Returns the plan of the case; valid until it is called for another one. `of` belongs to the history.
  CasePlan& plan_of(const CaseOutcomes& of) const;
  [[nodiscard]] bool is_excluded(const CaseOutcomes& of, const HistoryRun& run) const;

  const DeviceHistory& history_;
  std::map<std::string, Pattern> filters_;
  std::vector<std::size_t> plan_of_run_;  ///< number of suite and fingerprint of each run
  std::size_t plans_ = 0;
  mutable CasePlan last_;
};

/// Changes of one series whose values repeat exactly.
struct ExactChanges {
  std::vector<Change> changes;
  std::optional<AllowedGrowth> allowed_growth;  ///< of the newest value
};

/// Finds changes of bytes or ratios. `allowed` does not apply to leaks.
ExactChanges find_exact_changes(const DeviceHistory& history, const Series& series,
                                const GrowthAllowance& allowed);

/// Relative difference of two ratios that count as the same: a quotient may differ in its last bit.
inline constexpr double kSameRatio = 1e-9;

/// Finds changes of the outcome of a case: a worse one is a regression, a better one an improvement. An
/// outcome that the suite expects is as good as `ok`.
std::vector<Change> find_outcome_changes(const CaseOutcomes& of);

/// Changes of all series of times.
struct TimeTrends {
  std::vector<Change> changes;  ///< sorted by `raised`
  std::vector<NotEnoughData> not_enough_data;
  std::vector<std::string> to_measure_again;
};

/// Replays the runs over all series of times together: false discoveries are limited among the cases of a
/// run.
TimeTrends find_time_changes(const DeviceHistory& history, const Plans& plans, const TrendOptions& options);

/// Maps a value to a number that is larger if worse.
using Badness = double (*)(double);
inline double identity_badness(double value) {
  return value;
}

/// Tracks the open regressions of one series while its changes are found in order.
class OpenRegressions {
 public:
  explicit OpenRegressions(Badness badness = identity_badness) : badness_(badness) {}
  /// Sets verdict and state of `change`, and the state of the `earlier` changes that it undoes. The caller
  /// then appends `change` to `earlier`. `tolerance`: relative difference of levels that count as the same.
  /// `allowed`: growth over the former level that counts as back.
  void judge(Change& change, std::vector<Change>& earlier, double tolerance,
             const GrowthAllowance& allowed = {});
  [[nodiscard]] bool any() const { return !open_.empty(); }

 private:
  Badness badness_;
  std::vector<std::size_t> open_;  ///< indices of `earlier`
};

/// Marks open regressions of times as recovered if the times went back without a change point, as after a
/// short regression that increased the noise: the median of 14 runs is on the former level's side of the
/// middle of the two levels, by 2.5 standard errors. `changes` are those of the series, in order.
void close_resolved_regressions(const DeviceHistory& history, const Series& series,
                                std::vector<Change>& changes);

/// Marks changes of times that nearly all cases of a run have in one direction within 3 runs: at least 5
/// cases of at least 2 variants. Ratios to a reference do not count, since the reference already measures the
/// machine.
void mark_shared_steps(const DeviceHistory& history, std::size_t min_runs, std::vector<Change>& changes);

/// Returns true if `acceptance`, which begins at the run `from`, applies to this change.
bool accepts(const Acceptance& acceptance, std::size_t from, const Change& change);
/// Marks accepted changes.
void apply_acceptances(const DeviceHistory& history, std::vector<Change>& changes);

/// Returns the differences of environment between successive runs, without facts that change all the time
/// (load, free memory, current clocks).
std::vector<EnvironmentChange> find_environment_changes(const std::vector<HistoryRun>& runs);

}  // namespace peakmark::trend
