#pragma once

// For the sources of this room only: the two ways to find changes, and what becomes of them.

#include <string>
#include <vector>

#include "trend/plans.hpp"
#include "trend/series.hpp"
#include "trend/trends.hpp"

namespace peakmark::trend {

/// What one series shows whose values repeat exactly.
struct ExactChanges {
  std::vector<Change> changes;
  std::optional<AllowedGrowth> allowed_growth;  ///< in its newest value
};

/// `allowed` is not asked of leaks.
ExactChanges find_exact_changes(const DeviceHistory& history, const Series& series,
                                const GrowthAllowance& allowed);

/// What a replay of all times gives.
struct TimeTrends {
  std::vector<Change> changes;  ///< in order of `raised`
  std::vector<NotEnoughData> not_enough_data;
  std::vector<std::string> to_measure_again;
};

/// Night by night over all series of times together, since the cases of a night share its false discoveries.
TimeTrends find_time_changes(const DeviceHistory& history, const Plans& plans, const TrendOptions& options);

/// Larger is worse.
using Badness = double (*)(double);
inline double bad_as_it_is(double value) {
  return value;
}

/// The open regressions of one series while its changes are found in order.
class OpenRegressions {
 public:
  explicit OpenRegressions(Badness badness = bad_as_it_is) : badness_(badness) {}
  /// Decides verdict and state of `change`, and the state of those of `earlier` that it undoes; `change` is
  /// to become the last of `earlier`. `tolerance`: levels so near, as a part of the former, are the same.
  /// `allowed`: so much worse than the former level is back at it.
  void judge(Change& change, std::vector<Change>& earlier, double tolerance,
             const GrowthAllowance& allowed = {});
  [[nodiscard]] bool any() const { return !open_.empty(); }

 private:
  Badness badness_;
  std::vector<std::size_t> open_;  ///< indices of `earlier`
};

/// Marks open regressions of times as recovered from which the nights went back though no night was sure of
/// it, as after a short one, whose end lies within the noise that it made: the median of 14 nights lies on
/// the former level's side of the middle between the two, by 2.5 standard errors. `changes` are those of the
/// series, in order.
void close_gone_regressions(const DeviceHistory& history, const Series& series, std::vector<Change>& changes);

/// Whether `acceptance`, of the run `from`, means this change.
bool accepts(const Acceptance& acceptance, std::size_t from, const Change& change);
/// Marks changes that somebody accepted.
void apply_acceptances(const DeviceHistory& history, std::vector<Change>& changes);

/// What is called another environment from one run to the next; what changes from run to run by nature
/// (load, free memory, clocks of the moment) is none.
std::vector<EnvironmentChange> find_environment_changes(const std::vector<HistoryRun>& runs);

}  // namespace peakmark::trend
