#include "compare/peak_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <utility>

namespace peakmark {
namespace {

Size difference_in_bytes(const MovedEntries& moved) {
  const Size each = std::abs(checked_subtract(moved.new_bytes.value_or(0), moved.base_bytes.value_or(0)));
  return checked_multiply(each, moved.count);
}

void add(std::vector<MovedEntries>& list, const MovedEntries& one) {
  const bool alike = !list.empty() && list.back().name == one.name && list.back().kind == one.kind &&
                     list.back().base_bytes == one.base_bytes && list.back().new_bytes == one.new_bytes;
  if (alike) {
    ++list.back().count;
  } else {
    list.push_back(one);
  }
}

/// Sizes, ascending, of one name and kind.
struct Sizes {
  std::vector<Size> gone;
  std::vector<Size> come;
};

}  // namespace

std::vector<MovedEntries> moved_entries(const std::vector<PeakEntry>& base,
                                        const std::vector<PeakEntry>& next) {
  using Name = std::pair<std::string, std::string>;
  std::map<std::pair<Name, Size>, std::int64_t> surplus;  // of base over new
  for (const PeakEntry& one : base) ++surplus[{{one.name, one.kind}, one.bytes}];
  for (const PeakEntry& one : next) --surplus[{{one.name, one.kind}, one.bytes}];
  std::map<Name, Sizes> moved;
  for (const auto& [what, count] : surplus) {
    auto& sizes = count > 0 ? moved[what.first].gone : moved[what.first].come;
    sizes.insert(sizes.end(), static_cast<std::size_t>(std::abs(count)), what.second);
  }
  std::vector<MovedEntries> entries;
  for (const auto& [name, sizes] : moved) {
    for (std::size_t i = 0; i < std::max(sizes.gone.size(), sizes.come.size()); ++i) {
      MovedEntries one{name.first, name.second, std::nullopt, std::nullopt, 1};
      if (i < sizes.gone.size()) one.base_bytes = sizes.gone[i];
      if (i < sizes.come.size()) one.new_bytes = sizes.come[i];
      add(entries, one);
    }
  }
  std::ranges::stable_sort(entries, std::greater<>(), difference_in_bytes);
  return entries;
}

std::string in_words(const MovedEntries& moved) {
  const std::string name = moved.name.empty() ? "(unnamed)" : moved.name;
  const std::string times = moved.count == 1 ? "" : fmt::format("{} × ", moved.count);
  if (!moved.base_bytes)
    return fmt::format("came: {} ({}), {}{} B", name, moved.kind, times, *moved.new_bytes);
  if (!moved.new_bytes)
    return fmt::format("went: {} ({}), {}{} B", name, moved.kind, times, *moved.base_bytes);
  return fmt::format("{}: {} ({}), {}{} -> {} B", *moved.new_bytes > *moved.base_bytes ? "grew" : "shrank",
                     name, moved.kind, times, *moved.base_bytes, *moved.new_bytes);
}

}  // namespace peakmark
