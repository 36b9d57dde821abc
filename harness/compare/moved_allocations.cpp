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

Size spread_bytes(const MovedBetweenLists& one) {
  const auto [least, most] = std::ranges::minmax(one.counts);
  return checked_multiply(one.bytes, most - least);
}

}  // namespace

std::vector<MovedBetweenLists> moved_between(const std::vector<const std::vector<Allocation>*>& lists) {
  std::map<std::tuple<std::string, MemoryKind, Size>, std::vector<std::int64_t>> counts;
  for (std::size_t list = 0; list < lists.size(); ++list) {
    for (const Allocation& one : *lists[list]) {
      auto& by_list = counts[{one.name, one.kind, one.bytes}];
      by_list.resize(lists.size());
      ++by_list[list];
    }
  }
  std::vector<MovedBetweenLists> moved;
  for (auto& [what, by_list] : counts) {
    const auto [least, most] = std::ranges::minmax(by_list);
    if (least == most) continue;
    const auto& [name, kind, bytes] = what;
    moved.push_back({name, kind, bytes, std::move(by_list)});
  }
  std::ranges::stable_sort(moved, std::greater<>(), spread_bytes);
  return moved;
}

std::vector<MovedAllocations> moved_allocations(const std::vector<Allocation>& base,
                                                const std::vector<Allocation>& next) {
  std::vector<MovedAllocations> moved;
  for (const MovedBetweenLists& one : moved_between({&base, &next}))
    moved.push_back({one.name, one.kind, one.bytes, one.counts[0], one.counts[1]});
  return moved;
}

std::vector<std::string> moved_between_passes(const std::vector<Allocation>& first,
                                              const std::vector<Allocation>& second) {
  std::vector<std::string> lines;
  for (const MovedAllocations& moved : moved_allocations(first, second)) {
    const std::int64_t more = moved.new_count - moved.base_count;
    lines.push_back(fmt::format("{} × {} ({}, {} bytes) only in the {} pass", std::abs(more),
                                moved.name.empty() ? "unnamed" : moved.name, to_string(moved.kind),
                                moved.bytes, more < 0 ? "first" : "second"));
  }
  return lines;
}

}  // namespace peakmark
