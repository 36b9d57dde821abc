#pragma once

#include "base/dtype.hpp"
#include "base/shape.hpp"
#include "kernels/mul_add/region.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// Computes dst = a·dst + b·other on a y-x region of each image of two stacks (n, ny, nx) of one element
/// type, f32 or f64. dst and other may be one array, and their regions may overlap: the result is as if other
/// had been copied first. For that a temporary, `copy_of_other`, holds one region of one image.
class MulAdd {
 public:
  /// Compiles the kernels. Throws UsageError for another element type, Unsupported if the device cannot
  /// compute in it.
  MulAdd(Device& device, DType dtype);

  /// Enqueues the work. Throws UsageError if a region is empty or not inside its stack, if the regions differ
  /// in size, or if an array has another element type.
  void operator()(DeviceArray& dst, const Region& dst_region, double a, const DeviceArray& other,
                  const Region& other_region, double b);

  /// Creates the temporary for regions of h by w, so that calls allocate nothing. Waits if it replaces a
  /// smaller one.
  void reserve_copy(Size h, Size w);

 private:
  /// The first element of a region, and the elements from one row and from one image to the next.
  struct Layout {
    Size first, row, image;
  };
  static Layout region_layout(const Shape& stack, const Region& region);
  void launch(DeviceArray& dst, const Layout& to, double a, const DeviceArray& other, const Layout& from,
              double b, const Region& size);
  void copy_region(const DeviceArray& other, const Region& region);

  Device& device_;
  DType dtype_;
  Kernel mul_add_;
  Kernel copy_region_;
  DeviceArray copy_of_other_;
};

}  // namespace peakmark
