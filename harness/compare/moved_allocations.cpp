#include "compare/moved_allocations.hpp"

#include <fmt/format.h>

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

std::vector<std::string> moved_between_passes(const std::vector<Allocation>& first,
                                              const std::vector<Allocation>& second) {
  std::vector<std::string> lines;
  for (const MovedAllocations& moved : moved_allocations(first, second)) {
    const std::int64_t more = moved.new_count - moved.base_count;
    lines.push_back(fmt::format("{} × {} ({}, {} bytes) only in the {} pass", std::abs(more),
                                moved.name.empty() ? "unnamed" : moved.name, name_of(moved.kind), moved.bytes,
                                more < 0 ? "first" : "second"));
  }
  return lines;
}

}  // namespace peakmark
