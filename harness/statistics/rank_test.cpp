#include "statistics/rank_test.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "statistics/centre.hpp"
#include "statistics/rank_sums.hpp"

namespace peakmark {
namespace {

/// Twice the mean ranks (integers) of the first sample's values, then the second's; and Σ (t³ − t) over ties.
struct Ranks {
  std::vector<std::int64_t> doubled;
  double ties = 0;
};

Ranks ranks_of(std::span<const double> first, std::span<const double> second) {
  std::vector<double> values(first.begin(), first.end());
  values.insert(values.end(), second.begin(), second.end());
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t index) { return values[index]; });
  Ranks ranks;
  ranks.doubled.resize(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) {
      ranks.doubled[order[i]] = static_cast<std::int64_t>(begin + 1 + end);
    }
    const auto equal = static_cast<double>(end - begin);
    ranks.ties += equal * equal * equal - equal;
  }
  return ranks;
}

double upper_tail(double z) {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

double exact_p(const Ranks& ranks, std::size_t taken, std::int64_t doubled_sum) {
  const std::vector<double> distribution = rank_sum_distribution(ranks.doubled, taken);
  const auto at = distribution.begin() + doubled_sum;
  const double lower = std::accumulate(distribution.begin(), at + 1, 0.0);
  const double upper = std::accumulate(at, distribution.end(), 0.0);
  return std::min(1.0, 2 * std::min(lower, upper));
}

double approximate_p(double u, double m, double n, double ties) {
  const double all = m + n;
  const double variance = m * n / 12 * (all + 1 - ties / (all * (all - 1)));
  if (variance <= 0) return 1;  // all values are equal
  const double distance = std::max(u, m * n - u) - m * n / 2;
  return std::min(1.0, 2 * upper_tail((distance - 0.5) / std::sqrt(variance)));
}

}  // namespace

RankTest mann_whitney(std::span<const double> first, std::span<const double> second) {
  if (first.empty() || second.empty()) throw std::invalid_argument("a sample to compare is empty");
  check_finite(first);
  check_finite(second);
  const Ranks ranks = ranks_of(first, second);
  const auto middle = ranks.doubled.begin() + static_cast<std::ptrdiff_t>(first.size());
  const std::int64_t doubled_first = std::accumulate(ranks.doubled.begin(), middle, std::int64_t{0});
  const std::int64_t doubled_second = std::accumulate(middle, ranks.doubled.end(), std::int64_t{0});
  const auto m = static_cast<double>(first.size());
  const auto n = static_cast<double>(second.size());
  RankTest test;
  test.u = static_cast<double>(doubled_first) / 2 - m * (m + 1) / 2;
  test.exact = rank_sum_steps(ranks.doubled.size(), first.size()) <= kMaxRankSumSteps;
  const bool smaller_first = first.size() <= second.size();
  test.p = test.exact ? exact_p(ranks, std::min(first.size(), second.size()),
                                smaller_first ? doubled_first : doubled_second)
                      : approximate_p(test.u, m, n, ranks.ties);
  return test;
}

double chance_of_u_at_most(double u, std::size_t first, std::size_t second) {
  if (u < 0) return 0;
  const auto m = static_cast<double>(first);
  const auto n = static_cast<double>(second);
  if (u >= m * n) return 1;
  if (rank_sum_steps(first + second, first) > kMaxRankSumSteps) {
    const double deviation = std::sqrt(m * n * (m + n + 1) / 12);
    return upper_tail((m * n / 2 - std::floor(u) - 0.5) / deviation);
  }
  const std::vector<double> distribution = u_distribution(first, second);
  const auto end = distribution.begin() + static_cast<std::ptrdiff_t>(u) + 1;
  return std::accumulate(distribution.begin(), end, 0.0);
}

}  // namespace peakmark
