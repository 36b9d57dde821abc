#include "statistics/rank_sums.hpp"

#include <algorithm>
#include <numeric>

namespace peakmark {

double rank_sum_steps(std::size_t values, std::size_t taken) {
  const auto n = static_cast<double>(values);
  const auto k = static_cast<double>(std::min(taken, values - taken));
  return n * k * (2 * n * k);
}

// Ways are counted in doubles: up to 56 values they are exact integers, beyond that rounded in the last
// digit.
std::vector<double> rank_sum_distribution(std::span<const std::int64_t> ranks, std::size_t taken) {
  const std::int64_t most = std::accumulate(ranks.begin(), ranks.end(), std::int64_t{0});
  std::vector<std::int64_t> sorted(ranks.begin(), ranks.end());
  std::ranges::sort(sorted, std::greater<>());
  const std::int64_t width =
      std::accumulate(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(taken), std::int64_t{0}) +
      1;
  const auto columns = static_cast<std::size_t>(width);
  // ways[k · columns + s]: how many of the ways to take k of the ranks seen so far have the sum s.
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

}  // namespace peakmark
