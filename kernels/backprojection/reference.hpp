#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "kernels/backprojection/geometry.hpp"

namespace peakmark {

/// Pixel (y, x) of the whole slice, in double throughout. `views` and `slope` are the geometry's;
/// `sample(a, i)` gives column i of line a. The caller asks only for pixels that `clip` leaves.
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

/// One sinogram (n_a, w) to the region of its slice (h, w).
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

}  // namespace peakmark
