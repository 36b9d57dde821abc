#pragma once

#include <span>
#include <string>

#include "base/dtype.hpp"
#include "base/shape.hpp"
#include "kernels/common/element_types.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

// Arrays and kernels by Shape and DType, where the public API has lists of extents and names of element
// types.

/// Returns an array of zeros.
inline DeviceArray create(Device& device, const std::string& name, const Shape& shape, DType dtype) {
  return device.create(name, shape.extents(), to_string(dtype));
}
/// Returns an array whose elements are not set.
inline DeviceArray create_uninitialised(Device& device, const std::string& name, const Shape& shape,
                                        DType dtype) {
  return device.create_uninitialised(name, shape.extents(), to_string(dtype));
}
/// Returns an array with the host's data.
template <typename T>
DeviceArray create_with(Device& device, const std::string& name, const Shape& shape,
                        std::span<const T> data) {
  DeviceArray array = create_uninitialised(device, name, shape, dtype_of<T>);
  array.write<T>(data);
  return array;
}
/// Returns an array with the data that `generator` makes, piece by piece. On `dry` it makes none.
template <typename T>
DeviceArray create_with(Device& device, const std::string& name, const Shape& shape,
                        const Generator<T>& generator) {
  DeviceArray array = create_uninitialised(device, name, shape, dtype_of<T>);
  array.write<T>(generator);
  return array;
}
inline Shape shape(const DeviceArray& array) {
  return Shape(array.extents());
}
inline DType dtype(const DeviceArray& array) {
  return parse_dtype(array.dtype());
}
inline Kernel find_kernel(Device& device, const KernelSource& source, const std::string& name, DType dtype) {
  return device.kernel(source, name, to_string(dtype));
}

/// Throws Unsupported if the device does not compute in `dtype`.
inline void require_dtype(const Device& device, DType dtype) {
  if (dtype == DType::f64 && !device.has_f64())
    throw Unsupported("the device '" + std::string(device.name()) +
                      "' does not compute in f64; use dtype f32");
}

/// Returns a number with the width of the kernel's `pm_element`. Throws UsageError unless it is f32 or f64.
inline Argument floating_argument(DType dtype, double value) {
  return with_floating(dtype, [&](auto zero) { return Argument(static_cast<decltype(zero)>(value)); });
}

}  // namespace peakmark
