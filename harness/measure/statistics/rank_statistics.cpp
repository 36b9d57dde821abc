#include "measure/statistics/rank_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "base/error.hpp"

namespace peakmark {

void check_finite(std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw std::invalid_argument(fmt::format("value {} of {} is not finite", i + 1, values.size()));
  }
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double part = position - static_cast<double>(below);
  return values[below] + part * (values[above] - values[below]);
}

double median(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("median of no values");
  check_finite(values);
  return quantile({values.begin(), values.end()}, 0.5);
}

double rank_sum_steps(std::size_t values, std::size_t taken) {
  const auto n = static_cast<double>(values);
  const auto k = static_cast<double>(std::min(taken, values - taken));
  return n * k * (2 * n * k);
}

// Counts subsets in doubles, which are exact up to 56 values and rounded in the last digit beyond.
std::vector<double> rank_sum_distribution(std::span<const std::int64_t> ranks, std::size_t taken) {
  const std::int64_t most = std::accumulate(ranks.begin(), ranks.end(), std::int64_t{0});
  std::vector<std::int64_t> sorted(ranks.begin(), ranks.end());
  std::ranges::sort(sorted, std::greater<>());
  const std::int64_t width =
      std::accumulate(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(taken), std::int64_t{0}) +
      1;
  const auto columns = static_cast<std::size_t>(width);
  // ways[k · columns + s]: the number of subsets of k of the ranks so far with sum s.
  std::vector<double> ways((taken + 1) * columns, 0);
  ways[0] = 1;
  std::size_t seen = 0;
  for (const std::int64_t rank : ranks) {
    ++seen;
    const auto step = static_cast<std::size_t>(rank);
    for (std::size_t k = std::min(seen, taken); k > 0; --k) {
      double* const to = &ways[k * columns];
      const double* const from = &ways[(k - 1) * columns];
      for (std::size_t sum = step; sum < columns; ++sum) to[sum] += from[sum - step];
    }
  }
  std::vector<double> distribution(static_cast<std::size_t>(most) + 1, 0);
  const auto last = ways.begin() + static_cast<std::ptrdiff_t>(taken * columns);
  const double all = std::accumulate(last, last + static_cast<std::ptrdiff_t>(columns), 0.0);
  std::transform(last, last + static_cast<std::ptrdiff_t>(columns), distribution.begin(),
                 [all](double count) { return count / all; });
  return distribution;
}

std::vector<double> u_distribution(std::size_t first, std::size_t second) {
  const std::size_t taken = std::min(first, second);
  std::vector<std::int64_t> ranks(first + second);
  std::iota(ranks.begin(), ranks.end(), std::int64_t{1});
  const std::vector<double> sums = rank_sum_distribution(ranks, taken);
  const auto least = sums.begin() + static_cast<std::ptrdiff_t>(taken * (taken + 1) / 2);
  return {least, least + static_cast<std::ptrdiff_t>(first * second + 1)};
}

namespace {

/// Twice the mean ranks (integers) of the first sample, then of the second, and Σ (t³ − t) over ties.
struct Ranks {
  std::vector<std::int64_t> doubled;
  double ties = 0;
};

Ranks rank_values(std::span<const double> first, std::span<const double> second) {
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
  if (first.empty() || second.empty()) throw std::invalid_argument("empty sample");
  check_finite(first);
  check_finite(second);
  const Ranks ranks = rank_values(first, second);
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

namespace {

/// Returns the smallest u with P(U ≤ u) > tail: the interval is from the u-th smallest to the u-th largest
/// difference. 0 if even u = 0 is too likely.
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
  if (base.empty() || next.empty()) throw std::invalid_argument("empty sample");
  if (base.size() > kMaxDifferences / next.size()) throw UsageError("too many values to compare");
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

std::vector<double> adjust_false_discovery(std::span<const double> p) {
  for (const double one : p) {
    if (!(one >= 0 && one <= 1)) throw std::invalid_argument(fmt::format("{} is not a probability", one));
  }
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t index) { return p[index]; });
  std::vector<double> adjusted(p.size());
  double least = 1;
  for (std::size_t rank = p.size(); rank > 0; --rank) {
    const std::size_t index = order[rank - 1];
    least = std::min(least, p[index] * static_cast<double>(p.size()) / static_cast<double>(rank));
    adjusted[index] = least;
  }
  return adjusted;
}

}  // namespace peakmark
