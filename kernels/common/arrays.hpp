#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "base/shape.hpp"
#include "kernels/common/floating.hpp"
#ifdef PEAKMARK_KERNELS_ON_HARNESS_DEVICE
#include "base/error.hpp"
#include "device/device.hpp"
#else
#include "peakmark/worker/device.hpp"
#endif

namespace peakmark {

// Arrays and kernels by Shape and DType, where the public API has lists of extents and names of element
// types.
//
// Operations that are not yet written against the public API define PEAKMARK_KERNELS_ON_HARNESS_DEVICE: what
// they share with the others is then compiled for harness/device. One program has both, so each has a
// namespace: the linker would take either for a function whose parameters are the same.

#ifdef PEAKMARK_KERNELS_ON_HARNESS_DEVICE
inline namespace on_harness_device {

using DeviceArray = Array;

inline DeviceArray create_uninitialised(Device& device, const std::string& name, const Shape& shape,
                                        DType dtype) {
  return device.create_uninitialised(name, shape, dtype);
}
inline const Shape& shape(const DeviceArray& array) {
  return array.shape();
}
inline DType dtype(const DeviceArray& array) {
  return array.dtype();
}
inline Kernel find_kernel(Device& device, const KernelSource& source, const std::string& name, DType dtype) {
  return device.kernel(source, name, dtype);
}
inline Argument argument(const DeviceArray& array) {
  return &array;
}
inline bool is_cpu(const Device& device) {
  return device.info().is_cpu;
}
inline bool has_f64(const Device& device) {
  return device.info().has_f64;
}
template <typename T>
void write(Device& device, DeviceArray& array, const Generator<T>& generator) {
  device.write<T>(array, generator);
}
template <typename T>
std::vector<T> read(Device& device, const DeviceArray& array) {
  return device.pull<T>(array);
}
template <typename T>
void read_part(Device& device, const DeviceArray& array, Size first, std::span<T> to) {
  device.pull_part<T>(array, first, to);
}

/// Throws Unsupported if the device does not compute in `dtype`.
inline void require_dtype(const DeviceInfo& device, DType dtype) {
  if (dtype == DType::f64 && !device.has_f64)
    throw Unsupported("the device '" + device.name + "' does not compute in f64; use dtype f32");
}

#else
inline namespace on_public_device {

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
inline Shape shape(const DeviceArray& array) {
  return Shape(array.extents());
}
inline DType dtype(const DeviceArray& array) {
  return parse_dtype(array.dtype());
}
inline Kernel find_kernel(Device& device, const KernelSource& source, const std::string& name, DType dtype) {
  return device.kernel(source, name, to_string(dtype));
}
inline Argument argument(const DeviceArray& array) {
  return array;
}
inline bool is_cpu(const Device& device) {
  return device.is_cpu();
}
inline bool has_f64(const Device& device) {
  return device.has_f64();
}
template <typename T>
void write(Device&, DeviceArray& array, const Generator<T>& generator) {
  array.write<T>(generator);
}
template <typename T>
std::vector<T> read(Device&, const DeviceArray& array) {
  return array.read<T>();
}
template <typename T>
void read_part(Device&, const DeviceArray& array, Size first, std::span<T> to) {
  array.read_part<T>(first, to);
}

/// Throws Unsupported if the device does not compute in `dtype`.
inline void require_dtype(const Device& device, DType dtype) {
  if (dtype == DType::f64 && !device.has_f64())
    throw api_1::Unsupported("the device '" + std::string(device.name()) +
                             "' does not compute in f64; use dtype f32");
}

#endif

/// Returns a number with the width of the kernel's `pm_element`. Throws UsageError unless it is f32 or f64.
inline Argument floating_argument(DType dtype, double value) {
  return with_floating(dtype, [&](auto zero) { return Argument(static_cast<decltype(zero)>(value)); });
}

}  // namespace on_harness_device or on_public_device
}  // namespace peakmark
