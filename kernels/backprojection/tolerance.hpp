#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/backprojection/geometry.hpp"

namespace peakmark {

/// Returns what rounding by `unit` takes from a pixel that is a sum over n_a lines: of positions, which are
/// columns or places in a tile's stretch of at most 68, and of sums, relative to `largest`, the greatest
/// value there is.
inline double rounding_of_pixels(double unit, const SliceFrame& frame, Size n_a, double largest) {
  constexpr Size kStretch = 68;
  return unit * static_cast<double>(std::max({frame.side, n_a, kStretch})) * largest;
}

/// Returns what a texture unit's fraction of 8 bits takes from a pixel of noise in [−1, 1): the fraction is
/// off by 2^-9, or by 2^-8 where the unit truncates, of a difference of 0.8 (the root of its mean square).
/// Errors of different angles are independent: this is eight times their spread.
inline double texture_rounding_of_pixels(Size n_a) {
  return 0x1p-6 * std::sqrt(static_cast<double>(n_a));
}

}  // namespace peakmark
