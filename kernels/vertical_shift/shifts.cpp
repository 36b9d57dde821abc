#include "kernels/vertical_shift/shifts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "base/error.hpp"
#include "kernels/common/element_types.hpp"
#include "kernels/common/seeded.hpp"

namespace peakmark {
namespace {

ShiftTerm term(Size offset, Size n_z, double factor) {
  if (factor == 0 || std::abs(offset) >= n_z) return {};
  return {std::max<Size>(offset, 0), std::max<Size>(-offset, 0), n_z - std::abs(offset), factor};
}

}  // namespace

std::array<ShiftTerm, 2> shift_terms(float shift, Size n_z, DType dtype) {
  const auto height = static_cast<float>(n_z);
  if (shift <= -height || shift >= height) return {};  // also keeps floor(shift) within 64 bits
  const auto s0 = static_cast<Size>(std::floor(shift));
  return with_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T f = static_cast<T>(shift) - static_cast<T>(s0);
    return std::array{term(s0, n_z, static_cast<double>(T{1} - f)),
                      term(s0 + 1, n_z, static_cast<double>(f))};
  });
}

std::vector<float> shifts_of_chunk(std::span<const float> shifts, std::span<const Size> angles) {
  std::vector<float> chunk;
  chunk.reserve(angles.size());
  for (const Size angle : angles) {
    if (angle < 0 || angle >= static_cast<Size>(shifts.size()))
      throw UsageError(fmt::format("angle {} has no shift; there are shifts of {} angles, 0 is the first",
                                   angle, shifts.size()));
    chunk.push_back(shifts[static_cast<std::size_t>(angle)]);
  }
  return chunk;
}

void check_shifts(std::span<const float> shifts, Size n_a) {
  if (static_cast<Size>(shifts.size()) != n_a)
    throw UsageError(fmt::format("{} shifts for {} radios; one for each is needed", shifts.size(), n_a));
  for (std::size_t a = 0; a < shifts.size(); ++a)
    if (!std::isfinite(shifts[a]))
      throw UsageError(fmt::format("the shift of radio {} is {}; it must be finite", a, shifts[a]));
}

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
  throw UsageError(
      fmt::format("unknown shift pattern '{}'; write one of {}", name, fmt::join(shift_patterns(), ", ")));
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

Size max_shifted_rows(std::string_view pattern, Size n_a, Size n_z, DType dtype) {
  const Pattern shift = find_pattern(pattern);
  if (pattern == "beyond") return 0;
  Size most = 0;
  // Every other pattern soon has a shift of less than a row; then no further angle can have more rows.
  for (Size a = 0; a < n_a && most < n_z; ++a)
    for (const ShiftTerm& term : shift_terms(shift(a, n_z), n_z, dtype)) most = std::max(most, term.rows);
  return most;
}

}  // namespace peakmark
