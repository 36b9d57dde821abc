#pragma once

#include <optional>
#include <span>

namespace peakmark {

struct Interval {
  double low = 0;
  double high = 0;

  friend bool operator==(const Interval&, const Interval&) = default;
};

/// By how much `next` lies above `base`.
struct Shift {
  double estimate = 0;  ///< Hodges and Lehmann (1963): the median of all differences next − base
  /// The shifts that a two-sided test of Mann and Whitney does not refuse at 1 − confidence; none where the
  /// samples are too small for it to refuse any (3 a side, for 95 %). With ties it covers at least as much.
  std::optional<Interval> interval;
};

/// Throws std::invalid_argument when a sample is empty or a value is not finite, UsageError when there are
/// more than kMaxDifferences.
Shift hodges_lehmann(std::span<const double> base, std::span<const double> next, double confidence = 0.95);

/// Every difference is held at once.
inline constexpr std::size_t kMaxDifferences = 16'000'000;

}  // namespace peakmark
