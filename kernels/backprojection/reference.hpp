#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "kernels/backprojection/geometry.hpp"

namespace peakmark {

/// Returns pixel (y, x) of the whole slice, in double precision. `views` and `slope` are those of the
/// geometry; `sample(a, i)` returns column i of line a. Ignores `clip`.
template <typename Sample>
double backprojected_pixel(const std::vector<LineView>& views, double slope, Size w, Size y, Size x,
                           Sample&& sample) {
  double sum = 0;
  for (std::size_t a = 0; a < views.size(); ++a) {
    const LineView& view = views[a];
    const double t = view.start + static_cast<double>(x) * view.cosine - static_cast<double>(y) * view.sine;
    const double floor = std::floor(t);
    if (floor < -1 || floor >= static_cast<double>(w)) continue;
    const Size column = static_cast<Size>(floor);
    const auto weighted = [&](Size i) {
      if (i < 0 || i >= w) return 0.0;
      return overlap_weight(slope, static_cast<double>(i) - view.axis) *
             static_cast<double>(sample(static_cast<Size>(a), i));
    };
    const double fraction = t - floor;
    sum += (1 - fraction) * weighted(column) + fraction * weighted(column + 1);
  }
  return sum;
}

/// Back-projects one sinogram (n_a, w) to the region of its slice (h, w).
template <typename T>
std::vector<double> backprojection_reference(const BackprojectionGeometry& geometry,
                                             std::span<const T> sinogram) {
  const SliceFrame frame = slice_frame(geometry);
  const std::vector<LineView> views = line_views(geometry);
  const double slope = overlap_slope(geometry);
  std::vector<double> slice;
  slice.reserve(static_cast<std::size_t>(frame.slice_shape().elements()));
  for (Size y = frame.region.y0; y < frame.region.y0 + frame.region.h; ++y)
    for (Size x = frame.region.x0; x < frame.region.x0 + frame.region.w; ++x) {
      const bool computed = !geometry.clip || inside_circle(frame.side, y, x);
      slice.push_back(!computed ? 0
                                : backprojected_pixel(views, slope, geometry.w, y, x, [&](Size a, Size i) {
                                    return sinogram[static_cast<std::size_t>(a * geometry.w + i)];
                                  }));
    }
  return slice;
}

/// Returns the error that rounding by `unit` causes in a pixel that is a sum over n_a lines. `largest` is the
/// greatest value. Positions are rounded (columns, or places in a tile's segment of at most 68 columns), and
/// so are sums.
inline double rounding_of_pixels(double unit, const SliceFrame& frame, Size n_a, double largest) {
  constexpr Size kStretch = 68;
  return unit * static_cast<double>(std::max({frame.side, n_a, kStretch})) * largest;
}

/// Returns the error that a texture unit's fraction of 8 bits causes in a pixel of noise in [−1, 1). The
/// fraction is off by 2^-9, or by 2^-8 if the unit truncates, of a difference whose root mean square is 0.8.
/// Errors of different angles are independent: this is eight times their spread.
inline double texture_rounding_of_pixels(Size n_a) {
  return 0x1p-6 * std::sqrt(static_cast<double>(n_a));
}

}  // namespace peakmark
