#pragma once

#include <span>
#include <vector>

#include "base/shape.hpp"
#include "kernels/mul_add/region.hpp"

namespace peakmark {

/// Computes dst = a·dst + b·other for one row; each product and the sum is rounded to T.
template <typename T>
void mul_add_row_reference(std::span<T> dst, T a, std::span<const T> other, T b) {
  for (std::size_t x = 0; x < dst.size(); ++x) dst[x] = a * dst[x] + b * other[x];
}

/// The same for two stacks. `other` is passed by value, so that it may be a copy of dst. Does not check that
/// the regions fit.
template <typename T>
void mul_add_reference(std::vector<T>& dst, const Shape& dst_shape, const Region& dst_region, T a,
                       std::vector<T> other, const Shape& other_shape, const Region& other_region, T b) {
  const auto row_of = [](std::vector<T>& stack, const Shape& shape, const Region& region, Size image,
                         Size y) {
    const Size first = ((region.image0 + image) * shape[1] + region.y0 + y) * shape[2] + region.x0;
    return std::span(stack).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(region.w));
  };
  for (Size image = 0; image < dst_region.images; ++image)
    for (Size y = 0; y < dst_region.h; ++y)
      mul_add_row_reference<T>(row_of(dst, dst_shape, dst_region, image, y), a,
                               row_of(other, other_shape, other_region, image, y), b);
}

}  // namespace peakmark
