#pragma once

#include "kernels/backprojection/geometry.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// The weights of half-acquisition put on sinograms (n_z, n_a, w) in place, before something that mixes
/// columns. Back-project what comes of it with `weigh` false. Not enough for a ramp filter, which also
/// spreads a line beyond its near edge: kernels/fbp/joined_scan.hpp. Keeps `corrections` on the device (n_a
/// elements, only where the geometry has any). UsageError for a geometry that is wrong or not `weighted()`.
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
