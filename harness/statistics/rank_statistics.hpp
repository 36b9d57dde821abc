#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace peakmark {

/// The middle of the values, or the mean of the two in the middle. std::invalid_argument when there are none,
/// or one is not finite.
double median(std::span<const double> values);

/// std::invalid_argument, naming the place, when a value is NaN or infinite: an order of such values means
/// nothing.
void check_finite(std::span<const double> values);

/// How a sum of ranks is distributed when every way to take `taken` of the ranks is as likely: element s is
/// the probability of the sum s. Ranks are integers ≥ 0 (ties: twice the mean rank).
std::vector<double> rank_sum_distribution(std::span<const std::int64_t> ranks, std::size_t taken);

/// P(U = 0), P(U = 1), … of two samples of these sizes without ties.
std::vector<double> u_distribution(std::size_t first, std::size_t second);

/// The distribution takes about this many steps: (values) × (taken) × (largest sum).
double rank_sum_steps(std::size_t values, std::size_t taken);

/// More than this, some milliseconds, and the normal approximation serves. 25 a side are fewer.
inline constexpr double kMaxRankSumSteps = 4e6;

/// What the test of Mann and Whitney (1947) says of two samples.
struct RankTest {
  double u = 0;        ///< pairs in which the first is larger; equal pairs count one half
  double p = 1;        ///< two-sided: twice the smaller tail, at most 1
  bool exact = false;  ///< from all ways to deal the values out; else from the normal distribution
};

/// Whether two samples come from one distribution, whatever that is. Exact where that is quick
/// (kMaxRankSumSteps), ties included: the values as they are, with mean ranks, are dealt out in every way.
/// Beyond, the normal approximation with correction for ties and for continuity. std::invalid_argument when a
/// sample is empty or a value not finite.
RankTest mann_whitney(std::span<const double> first, std::span<const double> second);

/// For both sides without ties: P(U ≤ u) for u = 0, 1, … The least two-sided p that sizes can give is twice
/// the first: 4.1e-5 for 9 and 9, 5.8e-4 for 7 and 7.
double chance_of_u_at_most(double u, std::size_t first, std::size_t second);

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

/// Benjamini and Hochberg (1995), as adjusted p, in the order given: of those that are at most q, in
/// expectation at most the part q is false. For tests that are independent, or positively dependent.
/// std::invalid_argument when a p is not within 0 … 1.
std::vector<double> adjust_false_discovery(std::span<const double> p);

}  // namespace peakmark
