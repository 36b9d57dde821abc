#include "kernels/vertical_shift/shift_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.hpp"
#include "kernels/common/floating.hpp"

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

}  // namespace peakmark
