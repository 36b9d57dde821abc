#pragma once

#include <span>

#include "base/dtype.hpp"
#include "device/device.hpp"
#include "kernels/mul_add/mul_add.hpp"

namespace peakmark {

class Registry;

// Three ways to shift each radio of a stack (n_a, n_z, nx), in place, by its own shift:
// new[z] = (1 − f)·r[z + S0] + f·r[z + S0 + 1] with S0 = floor(shift), f = shift − S0; rows that are not
// there count as 0. shifts[i] is the shift of radio i, whatever its angle (see shifts_of_chunk), and every
// radio is shifted once. f32 and f64; UsageError for another dtype or shape, for a number of shifts other
// than n_a, and for a shift that is not finite; Unsupported where the device does not compute in the dtype.

/// Old: each term of each radio is a fresh temporary, `product`, added to one image, `shifted`, which is
/// copied back. So allocations grow with the angles. A product is released when it was used, which a blocking
/// free waits for: one is live at a time, and the peak repeats.
class ShiftWithTemporaries {
 public:
  /// For radios of n_z rows and nx columns.
  ShiftWithTemporaries(Device& device, DType dtype, Size n_z, Size nx);
  void operator()(Array& radios, std::span<const float> shifts);

 private:
  Device& device_;
  Kernel product_;
  Kernel add_;
  Array shifted_;
};

/// New: the radio is copied to one image, `radio`, and its terms are mul_adds on sub-regions of another,
/// `shifted`, which is copied back.
class ShiftWithMulAdd {
 public:
  ShiftWithMulAdd(Device& device, DType dtype, Size n_z, Size nx);
  void operator()(Array& radios, std::span<const float> shifts);

 private:
  Device& device_;
  MulAdd mul_add_;
  Array radio_;
  Array shifted_;
};

/// Next: one launch for the whole stack, and no memory but the shifts, f32, on the device. A shift that is
/// not finite moves everything out of the radio.
class FusedShift {
 public:
  FusedShift(Device& device, DType dtype);
  void operator()(Array& radios, const Array& shifts);

 private:
  Device& device_;
  DType dtype_;
  Kernel kernel_;
};

/// `vertical_shift/temporaries`, `vertical_shift/muladd` and `vertical_shift/fused`.
void add_vertical_shift(Registry& registry);

}  // namespace peakmark
