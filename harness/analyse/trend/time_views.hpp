#pragma once

// Internal to this module.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyse/trend/change_point_detector.hpp"
#include "analyse/trend/trends.hpp"

namespace peakmark::trend {

struct TimeScan {
  Scan scan;
  double level_ns = 0;    ///< the former level of the plain time, if there is a score
  std::string reference;  ///< empty: the plain time
};

/// Reference times that the runs of a device measured besides their cases.
class References {
 public:
  /// Plain times, or ratios to the run's device copy or its arithmetic.
  enum View : std::size_t { plain, copy, arithmetic };
  static constexpr std::size_t kViews = 3;

  explicit References(const std::vector<HistoryRun>& runs);

  /// Returns true if any run has the reference.
  [[nodiscard]] bool exists(View view) const { return !logs_[view].empty(); }

  /// Returns the logarithm of the reference; the median of earlier runs if this one has none; 0 if no run has
  /// one.
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

/// The times of one case in the three views. If the differences between runs come from the machine, a ratio
/// is less noisy. The view with the least noise so far is scanned.
class TimeViews {
 public:
  TimeViews(const Series& series, const References& references, const TrendOptions& options);

  /// Returns true if the run has a time.
  [[nodiscard]] bool has(std::size_t run) const { return logs_[run].has_value(); }
  /// Returns true if the run has a second time.
  [[nodiscard]] bool has_confirmation(std::size_t run) const {
    return run < confirmations_.size() && confirmations_[run].has_value();
  }
  /// Scans up to this run, with its time or with the mean of its two (`both`).
  [[nodiscard]] TimeScan scan(std::size_t run, bool both) const;
  void add(std::size_t run, bool both);
  void begin_level(std::size_t runs);
  void return_to_former_level(std::size_t runs);

 private:
  using View = References::View;
  static constexpr std::size_t kViews = References::kViews;

  [[nodiscard]] double value(std::size_t run, bool both, View view) const;
  void choose();

  const References& references_;
  const TrendOptions& options_;
  std::vector<std::optional<double>> logs_;
  std::vector<std::optional<double>> confirmations_;
  std::array<ChangePointDetector, kViews> detectors_;
  std::array<std::vector<bool>, kViews> measured_;  ///< if a run of the case has the reference
  View chosen_ = References::plain;
  std::size_t runs_ = 0;
};

}  // namespace peakmark::trend
