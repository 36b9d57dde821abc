#include "compare/moved_allocations.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace peakmark {
namespace {

Size difference_bytes(const MovedAllocations& one) {
  return checked_multiply(one.bytes, std::abs(one.new_count - one.base_count));
}

}  // namespace

std::vector<MovedAllocations> moved_allocations(const std::vector<Allocation>& base,
                                                const std::vector<Allocation>& next) {
  std::map<std::tuple<std::string, MemoryKind, Size>, std::pair<std::int64_t, std::int64_t>> counts;
  for (const Allocation& one : base) ++counts[{one.name, one.kind, one.bytes}].first;
  for (const Allocation& one : next) ++counts[{one.name, one.kind, one.bytes}].second;
  std::vector<MovedAllocations> moved;
  for (const auto& [what, count] : counts) {
    if (count.first == count.second) continue;
    const auto& [name, kind, bytes] = what;
    moved.push_back({name, kind, bytes, count.first, count.second});
  }
  std::ranges::stable_sort(moved, std::greater<>(), difference_bytes);
  return moved;
}

}  // namespace peakmark
