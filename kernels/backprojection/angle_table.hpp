#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backprojection/geometry.hpp"

namespace peakmark {

/// The table of angles of `tiled`: for each angle, cosine, sine, start and axis of its LineView in fixed
/// point with 36 bits of fraction. Positions in a slice of 2^24 pixels a side fit 64 bits, and their error is
/// below 2^-36 columns a pixel.
inline constexpr int kFractionBits = 36;
inline constexpr Size kTableColumns = 4;
std::vector<std::int64_t> angle_table(const BackprojectionGeometry& geometry);
/// The table's shape: (n_a, 4).
inline Shape angle_table_shape(Size n_a) {
  return {n_a, kTableColumns};
}

}  // namespace peakmark
