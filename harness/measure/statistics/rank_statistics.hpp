#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace peakmark {

/// Returns the quantile q (0 … 1) by linear interpolation, like numpy.quantile. `values` must not be empty.
double quantile(std::vector<double> values, double q);

/// Returns the median. Throws std::invalid_argument if there are no values, or one is not finite.
double median(std::span<const double> values);

/// Throws std::invalid_argument, with the position, if a value is NaN or infinite.
void check_finite(std::span<const double> values);

/// Returns the distribution of the sum of `taken` of the ranks, if all subsets are equally likely: element s
/// is the probability of the sum s. Ranks are integers ≥ 0 (with ties: twice the mean rank).
std::vector<double> rank_sum_distribution(std::span<const std::int64_t> ranks, std::size_t taken);

/// Returns P(U = 0), P(U = 1), … for two samples of these sizes without ties.
std::vector<double> u_distribution(std::size_t first, std::size_t second);

/// Returns the approximate number of steps for the distribution: (values) × (taken) × (largest sum).
double rank_sum_steps(std::size_t values, std::size_t taken);

/// Beyond this number of steps (a few milliseconds) the normal approximation is used. 25 values per side need
/// fewer.
inline constexpr double kMaxRankSumSteps = 4e6;

/// The result of the test of Mann and Whitney (1947).
struct RankTest {
  double u = 0;        ///< pairs in which the first is larger; equal pairs count one half
  double p = 1;        ///< two-sided: twice the smaller tail, at most 1
  bool exact = false;  ///< from all permutations; else from the normal distribution
};

/// Tests whether two samples come from the same distribution. Exact up to kMaxRankSumSteps, also with ties
/// (mean ranks); else the normal approximation with corrections for ties and continuity. Throws
/// std::invalid_argument if a sample is empty or a value is not finite.
RankTest mann_whitney(std::span<const double> first, std::span<const double> second);

/// Returns P(U ≤ u) without ties. The smallest possible two-sided p is twice the value for u = 0: 4.1e-5 for
/// 9 and 9, 5.8e-4 for 7 and 7.
double chance_of_u_at_most(double u, std::size_t first, std::size_t second);

struct Interval {
  double low = 0;
  double high = 0;

  friend bool operator==(const Interval&, const Interval&) = default;
};

/// The difference between `next` and `base`.
struct Shift {
  double estimate = 0;  ///< Hodges and Lehmann (1963): the median of all differences next − base
  /// The shifts that a two-sided test of Mann and Whitney does not reject at 1 − confidence. Null if the
  /// samples are too small to reject any (3 per side, for 95 %). With ties the coverage is at least as large.
  std::optional<Interval> interval;
};

/// Estimates the shift. Throws std::invalid_argument if a sample is empty or a value is not finite,
/// UsageError if there are more than kMaxDifferences differences.
Shift hodges_lehmann(std::span<const double> base, std::span<const double> next, double confidence = 0.95);

/// All differences are in memory at the same time.
inline constexpr std::size_t kMaxDifferences = 16'000'000;

/// Returns p values adjusted by Benjamini and Hochberg (1995), in the same order: among tests with an
/// adjusted p of at most q, the expected share of false ones is at most q. For independent or positively
/// dependent tests. Throws std::invalid_argument if a p is not within 0 … 1.
std::vector<double> adjust_false_discovery(std::span<const double> p);

}  // namespace peakmark
