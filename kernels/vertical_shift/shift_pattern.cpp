#include "kernels/vertical_shift/shift_pattern.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "kernels/common/seeded.hpp"
#include "kernels/vertical_shift/shift_terms.hpp"

namespace peakmark {
namespace {

constexpr std::uint32_t kSeedShift = 21;

using Pattern = float (*)(Size angle, Size n_z);

struct NamedPattern {
  const char* name;
  Pattern shift;
};

float uniform(Size angle) {
  return seeded_value<float>(kSeedShift, angle);
}

constexpr std::array kPatterns = {
    NamedPattern{"random8", [](Size angle, Size) { return 8 * uniform(angle); }},
    NamedPattern{"integer8", [](Size angle, Size) { return std::round(8 * uniform(angle)); }},
    NamedPattern{"positive4", [](Size angle, Size) { return 2 * (uniform(angle) + 1); }},
    NamedPattern{"negative4", [](Size angle, Size) { return -2 * (uniform(angle) + 1); }},
    NamedPattern{"zero", [](Size, Size) { return 0.0F; }},
    NamedPattern{"beyond",
                 [](Size angle, Size n_z) {
                   const float beyond = static_cast<float>(n_z) + 1.25F + 4 * std::abs(uniform(angle));
                   return angle % 2 == 0 ? beyond : -beyond;
                 }},
};

Pattern find_pattern(std::string_view name) {
  for (const NamedPattern& pattern : kPatterns)
    if (pattern.name == name) return pattern.shift;
  throw UsageError(fmt::format("there is no shift pattern '{}'; those there are: {}", name,
                               fmt::join(shift_patterns(), ", ")));
}

}  // namespace

const std::vector<std::string>& shift_patterns() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    all.reserve(kPatterns.size());
    for (const NamedPattern& pattern : kPatterns) all.emplace_back(pattern.name);
    return all;
  }();
  return names;
}

float shift_of_angle(std::string_view pattern, Size angle, Size n_z) {
  return find_pattern(pattern)(angle, n_z);
}

std::vector<float> shifts_of_angles(std::string_view pattern, Size n_a, Size n_z) {
  const Pattern shift = find_pattern(pattern);
  std::vector<float> shifts(static_cast<std::size_t>(n_a));
  for (Size a = 0; a < n_a; ++a) shifts[static_cast<std::size_t>(a)] = shift(a, n_z);
  return shifts;
}

Size most_shifted_rows(std::string_view pattern, Size n_a, Size n_z, DType dtype) {
  const Pattern shift = find_pattern(pattern);
  if (pattern == "beyond") return 0;
  Size most = 0;
  // Every other pattern soon has a shift within a row of 0; then no further angle can have more.
  for (Size a = 0; a < n_a && most < n_z; ++a)
    for (const ShiftTerm& term : shift_terms(shift(a, n_z), n_z, dtype)) most = std::max(most, term.rows);
  return most;
}

}  // namespace peakmark
