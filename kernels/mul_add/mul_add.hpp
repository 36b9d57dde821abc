#pragma once

#include "base/dtype.hpp"
#include "device/device.hpp"
#include "kernels/mul_add/region.hpp"

namespace peakmark {

class Registry;

/// dst = a·dst + b·other on a y-x region of each image of two stacks (n, ny, nx) of one dtype, f32 or f64.
/// dst and other may be one array and their regions may overlap: the result is as if other had been copied
/// first, for which one region of one image is kept in a temporary, `copy_of_other`.
class MulAdd {
 public:
  /// Compiles. UsageError for another dtype, Unsupported where the device does not compute in it.
  MulAdd(Device& device, DType dtype);

  /// Enqueues. UsageError when a region is empty or out of its stack, when the regions are unequal in size,
  /// or when an array is of another dtype.
  void operator()(Array& dst, const Region& dst_region, double a, const Array& other,
                  const Region& other_region, double b);

  /// Makes the temporary for regions of h by w now, so that no call has to; waits when a smaller one is
  /// replaced.
  void reserve_copy(Size h, Size w);

 private:
  /// Where a region lies: its first element, and the elements from a row and from an image to the next.
  struct Layout {
    Size first, row, image;
  };
  static Layout layout_of(const Shape& stack, const Region& region);
  void launch(Array& dst, const Layout& to, double a, const Array& other, const Layout& from, double b,
              const Region& size);
  void copy_region(const Array& other, const Region& region);

  Device& device_;
  DType dtype_;
  Kernel mul_add_;
  Kernel copy_region_;
  Array copy_of_other_;
};

/// `mul_add/whole` and `mul_add/subregion`.
void add_mul_add(Registry& registry);

}  // namespace peakmark
