#include "kernels/backprojection/overlap_weighting.hpp"

#include <fmt/format.h>

#include "backprojection_linear_source.hpp"
#include "base/error.hpp"
#include "kernels/common/arrays.hpp"

namespace peakmark {

OverlapWeighting::OverlapWeighting(Device& device, const BackprojectionGeometry& geometry, DType dtype)
    : device_(device), geometry_(geometry) {
  check(geometry);
  if (!geometry.weighted())
    throw UsageError("backprojection: weights are for half-acquisition; this geometry has none");
  require_dtype(device.info(), dtype);
  with_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> corrections(geometry.corrections.begin(), geometry.corrections.end());
    corrections_ = device.push<T>("corrections", {static_cast<Size>(corrections.size())},
                                  std::span<const T>(corrections));
  });
  kernel_ = device.kernel(backprojection_linear_source(), "weigh_overlap", dtype);
}

void OverlapWeighting::operator()(Array& sinograms) {
  const Shape& shape = sinograms.shape();
  const auto [n_a, w] = std::pair(geometry_.n_a, geometry_.w);
  if (!(shape == geometry_.sinogram_shape()) && !(shape.rank() == 3 && shape[1] == n_a && shape[2] == w))
    throw UsageError(fmt::format("backprojection: sinograms of shape {}; this geometry needs (n, {}, {})",
                                 shape.text(), n_a, w));
  const DType dtype = corrections_.dtype();
  if (sinograms.dtype() != dtype)
    throw UsageError(fmt::format("backprojection: sinograms are {}; {} was asked for",
                                 to_string(sinograms.dtype()), to_string(dtype)));
  const Size n_z = shape.rank() == 3 ? shape[0] : 1;
  const Size columns = device_.info().is_cpu ? w : 1;
  const Size pieces = (w + columns - 1) / columns;
  device_.launch(kernel_, {.x = checked_multiply(checked_multiply(n_z, n_a), pieces)},
                 {&sinograms, Size{0}, &corrections_, std::int32_t{geometry_.corrections.empty() ? 0 : 1},
                  n_z, n_a, w, columns, floating_argument(dtype, geometry_.axis),
                  floating_argument(dtype, overlap_slope(geometry_))});
}

}  // namespace peakmark
