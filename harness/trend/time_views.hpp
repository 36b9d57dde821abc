#pragma once

// For the sources of this room only.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trend/change_point_detector.hpp"
#include "trend/trends.hpp"

namespace peakmark::trend {

struct TimePass {
  Look scan;
  double level_ns = 0;    ///< the former level of the plain time, where there is a score
  std::string reference;  ///< empty: the plain time
};

/// What the runs of a device timed beside their cases, once for all of them.
class References {
 public:
  /// Times as they are, or as ratios to the run's device copy or to its arithmetic.
  enum View : std::size_t { plain, copy, arithmetic };
  static constexpr std::size_t kViews = 3;

  explicit References(const std::vector<HistoryRun>& runs);

  /// Its logarithm; of a run without one, that of a typical run before; 0 where no run has one.
  [[nodiscard]] double log(View view, std::size_t run) const {
    return logs_[view].empty() ? 0 : logs_[view][run];
  }
  [[nodiscard]] bool has(View view, std::size_t run) const {
    return !is_known_[view].empty() && is_known_[view][run];
  }

 private:
  std::array<std::vector<double>, kViews> logs_;
  std::array<std::vector<bool>, kViews> is_known_;
};

/// The times of one case in the three views. Where the machine is what differs from night to night, a ratio
/// is quieter; which view is looked at is decided by the noise that each had so far.
class TimeViews {
 public:
  TimeViews(const Series& series, const References& references, const TrendOptions& options);

  /// The run has a time.
  [[nodiscard]] bool has(std::size_t run) const { return logs_[run].has_value(); }
  /// It has a second one of the same night.
  [[nodiscard]] bool has_confirmation(std::size_t run) const {
    return run < confirmations_.size() && confirmations_[run].has_value();
  }
  /// Tonight with its time, or with the mean of its two (`both`).
  [[nodiscard]] TimePass look(std::size_t run, bool both) const;
  void add(std::size_t run, bool both);
  void begin_level(std::size_t nights);
  void return_to_former_level(std::size_t nights);

 private:
  using View = References::View;
  static constexpr std::size_t kViews = References::kViews;

  [[nodiscard]] double value(std::size_t run, bool both, View view) const;
  void choose();

  const References& references_;
  const TrendOptions& options_;
  std::vector<std::optional<double>> logs_;
  std::vector<std::optional<double>> confirmations_;
  std::array<ChangePointDetector, kViews> watches_;
  std::array<std::vector<bool>, kViews> measured_;  ///< night by night of the case: with its run's reference
  View chosen_ = References::plain;
  std::size_t nights_ = 0;
};

}  // namespace peakmark::trend
