#pragma once

#include "kernels/backprojection/geometry.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// Multiplies sinograms (n_z, n_a, w) by the weights of half-acquisition, in place, before an operation that
/// mixes columns. Back-project the result with `weigh` false. A ramp filter, which spreads a line beyond its
/// near edge, needs more: see kernels/fbp/joined_scan.hpp. Keeps `corrections` on the device if the geometry
/// has any (n_a elements). Throws UsageError for an invalid geometry, or one that is not `weighted()`.
class OverlapWeighting {
 public:
  OverlapWeighting(Device& device, const BackprojectionGeometry& geometry, DType dtype);
  void operator()(DeviceArray& sinograms);

 private:
  Device& device_;
  BackprojectionGeometry geometry_;
  Kernel kernel_;
  DeviceArray corrections_;
};

}  // namespace peakmark
