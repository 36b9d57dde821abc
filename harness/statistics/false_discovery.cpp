#include "statistics/false_discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace peakmark {

std::vector<double> adjust_false_discovery(std::span<const double> p) {
  for (const double one : p) {
    if (!(one >= 0 && one <= 1)) throw std::invalid_argument(fmt::format("{} is no probability", one));
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
