#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// Computes row z of a shifted radio of n_z rows: (1 − f)·r[z + S0] + f·r[z + S0 + 1]. Rows outside the radio
/// are 0, and a row whose factor is 0 is not read. `row_of(z)` returns a row of the radio.
template <typename T, typename RowOf>
void vertical_shift_row_reference(std::span<T> out, Size z, Size n_z, float shift, RowOf&& row_of) {
  const float s0 = std::floor(shift);
  const T f = static_cast<T>(shift) - static_cast<T>(s0);
  std::ranges::fill(out, T{0});
  const auto add = [&](float offset, T factor) {
    const double row = static_cast<double>(z) + static_cast<double>(offset);
    if (factor == 0 || row < 0 || row >= static_cast<double>(n_z)) return;
    const std::span<const T> source = row_of(static_cast<Size>(row));
    for (std::size_t x = 0; x < out.size(); ++x) out[x] += factor * source[x];
  };
  add(s0, T{1} - f);
  add(s0 + 1, f);
}

/// Shifts a stack of radios (n_a, n_z, nx), where n_a is the number of shifts.
template <typename T>
std::vector<T> vertical_shift_reference(const std::vector<T>& radios, Size n_z, Size nx,
                                        std::span<const float> shifts) {
  std::vector<T> shifted(radios.size());
  for (Size a = 0; a < static_cast<Size>(shifts.size()); ++a) {
    const auto row = [&](auto& stack, Size z) {
      return std::span(stack).subspan(static_cast<std::size_t>((a * n_z + z) * nx),
                                      static_cast<std::size_t>(nx));
    };
    for (Size z = 0; z < n_z; ++z)
      vertical_shift_row_reference<T>(row(shifted, z), z, n_z, shifts[static_cast<std::size_t>(a)],
                                      [&](Size source) { return std::span<const T>(row(radios, source)); });
  }
  return shifted;
}

}  // namespace peakmark
