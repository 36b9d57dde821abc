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
  require_dtype(device, dtype);
  with_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> corrections(geometry.corrections.begin(), geometry.corrections.end());
    corrections_ = create_with<T>(device, "corrections", {static_cast<Size>(corrections.size())},
                                  std::span<const T>(corrections));
  });
  kernel_ = find_kernel(device, backprojection_linear_source(), "weigh_overlap", dtype);
}

void OverlapWeighting::operator()(DeviceArray& sinograms) {
  const Shape stack = shape(sinograms);
  const auto [n_a, w] = std::pair(geometry_.n_a, geometry_.w);
  if (!(stack == geometry_.sinogram_shape()) && !(stack.rank() == 3 && stack[1] == n_a && stack[2] == w))
    throw UsageError(fmt::format("backprojection: sinograms of shape {}; this geometry needs (n, {}, {})",
                                 stack.text(), n_a, w));
  if (sinograms.dtype() != corrections_.dtype())
    throw UsageError(fmt::format("backprojection: sinograms are {}; {} was asked for", sinograms.dtype(),
                                 corrections_.dtype()));
  const DType dtype = peakmark::dtype(corrections_);
  const Size n_z = stack.rank() == 3 ? stack[0] : 1;
  const Size columns = device_.is_cpu() ? w : 1;
  const Size pieces = (w + columns - 1) / columns;
  device_.launch(kernel_, {.x = checked_multiply(checked_multiply(n_z, n_a), pieces)},
                 {sinograms, Size{0}, corrections_, std::int32_t{geometry_.corrections.empty() ? 0 : 1}, n_z,
                  n_a, w, columns, floating_argument(dtype, geometry_.axis),
                  floating_argument(dtype, overlap_slope(geometry_))});
}

}  // namespace peakmark
