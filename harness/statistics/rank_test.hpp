#pragma once

#include <span>

namespace peakmark {

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

}  // namespace peakmark
