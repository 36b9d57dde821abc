#pragma once

#include <span>

#include "base/dtype.hpp"
#include "kernels/mul_add/mul_add.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

// Three implementations that shift each radio of a stack (n_a, n_z, nx), in place, by its own shift:
// new[z] = (1 − f)·r[z + S0] + f·r[z + S0 + 1] with S0 = floor(shift), f = shift − S0. Rows outside the radio
// count as 0. shifts[i] is the shift of radio i, whatever its angle (see shifts_of_chunk). They throw
// UsageError unless the element type is f32 or f64, for another shape, for a number of shifts other than n_a,
// and for a shift that is not finite. They throw Unsupported if the device cannot compute in the element
// type.

/// The first implementation: each term of each radio is a separate temporary, `product`, which is added to
/// one image, `shifted`, which is copied back. So the number of allocations grows with the angles. A product
/// is released after a wait as soon as it was used, so one is live at a time, and the peak repeats.
class ShiftWithTemporaries {
 public:
  /// For radios of n_z rows and nx columns.
  ShiftWithTemporaries(Device& device, DType dtype, Size n_z, Size nx);
  void operator()(DeviceArray& radios, std::span<const float> shifts);

 private:
  Device& device_;
  Kernel product_;
  Kernel add_;
  DeviceArray shifted_;
};

/// The second implementation: copies the radio to one image, `radio`, and adds its terms by mul_add on
/// regions of another, `shifted`, which is copied back.
class ShiftWithMulAdd {
 public:
  ShiftWithMulAdd(Device& device, DType dtype, Size n_z, Size nx);
  void operator()(DeviceArray& radios, std::span<const float> shifts);

 private:
  Device& device_;
  MulAdd mul_add_;
  DeviceArray radio_;
  DeviceArray shifted_;
};

/// The third implementation: one launch for the whole stack, in place. Its only memory is the shifts, f32, on
/// the device. A shift that is not finite moves everything out of the radio.
class FusedShift {
 public:
  FusedShift(Device& device, DType dtype);
  void operator()(DeviceArray& radios, const DeviceArray& shifts);

 private:
  Device& device_;
  DType dtype_;
  Kernel kernel_;
};

}  // namespace peakmark
