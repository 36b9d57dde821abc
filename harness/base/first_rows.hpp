#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "base/text_table.hpp"

namespace peakmark {

/// What stands under a list of which only the first are shown, indented as they are; empty where all are.
inline std::string more_than(std::size_t most, std::size_t all) {
  if (all <= most) return {};
  return "  and " + std::to_string(all - most) + " more; --json has them all\n";
}

/// A table of the first `most` of a list, to which `add(table, one)` gives a row or more each, and how many
/// more there are.
template <typename List, typename Add>
std::string first_rows(TextTable table, std::size_t most, const List& all, Add&& add) {
  std::size_t shown = 0;
  for (const auto& one : all) {
    if (shown++ == most) break;
    add(table, one);
  }
  return table.text() + more_than(most, all.size());
}

}  // namespace peakmark
