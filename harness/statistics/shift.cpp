#include "statistics/shift.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "base/error.hpp"
#include "base/quantile.hpp"
#include "statistics/centre.hpp"
#include "statistics/rank_sums.hpp"
#include "statistics/rank_test.hpp"

namespace peakmark {
namespace {

/// The least u with P(U ≤ u) > tail: the interval goes from the u-th difference from below to the u-th from
/// above. 0 where even u = 0 is too likely.
std::size_t differences_left_out(std::size_t first, std::size_t second, double tail) {
  if (rank_sum_steps(first + second, first) <= kMaxRankSumSteps) {
    double sum = 0;
    std::size_t u = 0;
    for (const double chance : u_distribution(first, second)) {
      sum += chance;
      if (sum > tail) break;
      ++u;
    }
    return u;
  }
  std::size_t low = 0;
  std::size_t high = first * second;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (chance_of_u_at_most(static_cast<double>(middle), first, second) > tail) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

Shift hodges_lehmann(std::span<const double> base, std::span<const double> next, double confidence) {
  if (base.empty() || next.empty()) throw std::invalid_argument("a sample to compare is empty");
  if (base.size() > kMaxDifferences / next.size()) throw UsageError("the samples to compare are too large");
  check_finite(base);
  check_finite(next);
  std::vector<double> differences;
  differences.reserve(base.size() * next.size());
  for (const double one : base) {
    for (const double other : next) differences.push_back(other - one);
  }
  std::ranges::sort(differences);
  Shift shift;
  shift.estimate = quantile(differences, 0.5);
  const std::size_t out = differences_left_out(base.size(), next.size(), (1 - confidence) / 2);
  if (out > 0) shift.interval = Interval{differences[out - 1], differences[differences.size() - out]};
  return shift;
}

}  // namespace peakmark
