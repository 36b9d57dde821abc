#include "measure/compare/moved_allocations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "base/difference.hpp"

namespace peakmark {

namespace {

Size spread_bytes(const MovedBetweenLists& one) {
  const auto [min, max] = std::ranges::minmax(one.counts);
  return checked_multiply(one.bytes, max - min);
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
    const auto [min, max] = std::ranges::minmax(by_list);
    if (min == max) continue;
    const auto& [name, kind, bytes] = what;
    moved.push_back({name, kind, bytes, std::move(by_list)});
  }
  std::ranges::stable_sort(moved, std::greater<>(), spread_bytes);
  return moved;
}

namespace {

void add(std::vector<MovedAllocations>& list, const MovedAllocations& one) {
  const bool alike = !list.empty() && list.back().name == one.name && list.back().kind == one.kind &&
                     list.back().base_bytes == one.base_bytes && list.back().new_bytes == one.new_bytes;
  if (alike) {
    ++list.back().count;
  } else {
    list.push_back(one);
  }
}

/// Sizes of one name and kind, ascending.
struct Sizes {
  std::vector<Size> removed;
  std::vector<Size> added;
};

}  // namespace

std::vector<MovedAllocations> moved_allocations(const std::vector<PeakEntry>& base,
                                                const std::vector<PeakEntry>& next) {
  using Name = std::pair<std::string, std::string>;
  std::map<std::pair<Name, Size>, std::int64_t> surplus;  // count in base minus count in new
  for (const PeakEntry& one : base) ++surplus[{{one.name, one.kind}, one.bytes}];
  for (const PeakEntry& one : next) --surplus[{{one.name, one.kind}, one.bytes}];
  std::map<Name, Sizes> moved;
  for (const auto& [what, count] : surplus) {
    auto& sizes = count > 0 ? moved[what.first].removed : moved[what.first].added;
    sizes.insert(sizes.end(), static_cast<std::size_t>(std::abs(count)), what.second);
  }
  std::vector<MovedAllocations> entries;
  for (const auto& [name, sizes] : moved) {
    for (std::size_t i = 0; i < std::max(sizes.removed.size(), sizes.added.size()); ++i) {
      MovedAllocations one{name.first, name.second, std::nullopt, std::nullopt, 1};
      if (i < sizes.removed.size()) one.base_bytes = sizes.removed[i];
      if (i < sizes.added.size()) one.new_bytes = sizes.added[i];
      add(entries, one);
    }
  }
  std::ranges::stable_sort(entries, std::greater<>(),
                           [](const MovedAllocations& one) { return std::abs(difference(one)); });
  return entries;
}

Size difference(const MovedAllocations& moved) {
  return checked_multiply(checked_subtract(moved.new_bytes.value_or(0), moved.base_bytes.value_or(0)),
                          moved.count);
}

std::vector<PeakEntry> peak_entries(const std::vector<Allocation>& allocations) {
  std::vector<PeakEntry> entries;
  entries.reserve(allocations.size());
  for (const Allocation& one : allocations) entries.push_back({one.name, to_string(one.kind), one.bytes});
  return entries;
}

namespace {

/// Returns ` (5 MiB)`, ` (32.81 KiB -> 1.032 MiB)`; empty for sizes that are easy to read in bytes.
std::string with_units(const MovedAllocations& moved) {
  constexpr Size kEasy = 1 << 20;
  const auto& [base, next] = std::pair(moved.base_bytes, moved.new_bytes);
  if (std::max(base.value_or(0), next.value_or(0)) < kEasy) return "";
  if (!base || !next) return fmt::format(" ({})", format_size(base ? *base : *next));
  return fmt::format(" ({} -> {})", format_size(*base), format_size_beside(*next, *base));
}

}  // namespace

std::string in_words(const MovedAllocations& moved) {
  const std::string units = with_units(moved);
  const std::string name = moved.name.empty() ? "(unnamed)" : moved.name;
  const std::string times = moved.count == 1 ? "" : fmt::format("{} × ", moved.count);
  if (!moved.base_bytes)
    return fmt::format("added: {} ({}), {}{} B{}", name, moved.kind, times, *moved.new_bytes, units);
  if (!moved.new_bytes)
    return fmt::format("removed: {} ({}), {}{} B{}", name, moved.kind, times, *moved.base_bytes, units);
  return fmt::format("{}: {} ({}), {}{} -> {} B{}", *moved.new_bytes > *moved.base_bytes ? "grew" : "shrank",
                     name, moved.kind, times, *moved.base_bytes, *moved.new_bytes, units);
}

}  // namespace peakmark
