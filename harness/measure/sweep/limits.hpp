#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// The limits of a metric that the program reports. Null: none.
struct MetricLimit {
  std::string name;
  std::optional<double> min;  ///< `min_metric`
  std::optional<double> max;  ///< `max_metric`

  friend bool operator==(const MetricLimit&, const MetricLimit&) = default;
};

/// Limits of a case, which its suite sets. Null: none.
struct Limits {
  std::optional<Size> peak_bytes;         ///< `max_peak`
  std::optional<double> peak_over_floor;  ///< `max_peak_over_floor`: of peak / (input_bytes + output_bytes)
  std::optional<double> time_ns;          ///< `max_time`: of the median
  /// `allow_growth`: of peak and setup over those of the base. Null: any growth fails.
  std::optional<GrowthAllowance> growth = std::nullopt;
  /// `allow_shrinking`: of the peak under that of the base. Null: it may shrink by any amount.
  std::optional<GrowthAllowance> shrinking = std::nullopt;
  std::vector<MetricLimit> metrics = {};  ///< each name once

  /// Returns the limit of this metric, and adds one if there is none.
  MetricLimit& metric(std::string_view name);
  /// Replaces the limits that `other` sets, each separately.
  void replace(const Limits& other);
  /// Returns whether `allow_growth` covers the growth from `base` to `next`.
  [[nodiscard]] bool covers_growth(Size base, Size next) const;
  /// Returns whether `next` is less than `base` by more than `allow_shrinking`.
  [[nodiscard]] bool shrank_too_far(Size base, Size next) const;

  friend bool operator==(const Limits& one, const Limits& other);
};

/// Parses `3 GiB` or `3000 B`. Throws UsageError for 0 and for a number without a unit.
Size parse_peak_limit(std::string_view text);
/// Parses `64 KiB` or `5 %`, for `allow_growth` and `allow_shrinking`. Throws UsageError for a number without
/// a unit.
GrowthAllowance parse_allowance(std::string_view text);
/// Parses `2 ms` or `1.5 s`: ns, us, ms or s. Returns nanoseconds. Throws UsageError unless it is above 0.
double parse_time_limit(std::string_view text);

}  // namespace peakmark
