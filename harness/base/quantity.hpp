#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace peakmark {

/// Returns a number with its noun: `1 case`, `2 cases`. `many`: where the plural is not `one` with an s, as
/// in quantity(count, "case is", "cases are").
template <std::integral Count>
std::string quantity(Count count, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(count);
  text += ' ';
  if (count == 1 || many.empty()) text += one;
  if (count != 1) text += many.empty() ? std::string_view("s") : many;
  return text;
}

}  // namespace peakmark
