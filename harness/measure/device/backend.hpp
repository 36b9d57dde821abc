#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/dtype.hpp"
#include "base/size.hpp"
#include "measure/device/device.hpp"

namespace peakmark {

// Functions that the backends share. Each backend has two functions: `list_…` appends its devices, and the
// reasons why devices are missing, and does not throw if a driver is missing; `open_…` throws DeviceError if
// the device with this index no longer exists.

void list_opencl(DeviceList& list);
std::unique_ptr<backend::Device> open_opencl(const DeviceInfo& info);

void list_cuda(DeviceList& list);
std::unique_ptr<backend::Device> open_cuda(const DeviceInfo& info);

/// Throws UsageError if [offset, offset + bytes) is not inside the array, or the array was reset.
void check_inside(const backend::Array& array, Size offset_bytes, Size bytes);
struct ByteRange {
  Size offset;
  Size bytes;
};
/// Returns the bytes of elements [first, first + count). Throws as check_inside() does.
ByteRange elements_inside(const backend::Array& array, Size first, Size count);
/// Throws UsageError if a range is outside its array, or if both arrays are the same memory.
void check_copy(const backend::Array& from, Size from_offset_bytes, const backend::Array& to,
                Size to_offset_bytes, Size bytes);

/// One element as a device holds it: little-endian, in the first `size` bytes.
struct Element {
  std::array<std::byte, 16> bytes{};
  Size size = 0;
  [[nodiscard]] std::span<const std::byte> span() const {
    return {bytes.data(), static_cast<std::size_t>(size)};
  }
};

/// Returns `value` as an element of `dtype`; for a complex type, as its real part. Infinities and NaN are
/// values of the floating-point types. Throws UsageError if the dtype cannot hold the value exactly: a
/// fraction or a number out of range for an integer, a double that f32 would round. To store the nearest
/// float, convert the value first.
Element element_of(double value, DType dtype);

/// Work-items along x, y, z: `global` is a multiple of `local`.
struct LaunchGeometry {
  std::array<Size, 3> local{1, 1, 1};
  std::array<Size, 3> global{1, 1, 1};
  [[nodiscard]] bool empty() const { return global[0] == 0 || global[1] == 0 || global[2] == 0; }
};

/// Chooses the local sizes that are 0 and rounds the global sizes up to multiples of them. `max_group` is the
/// maximum number of work-items in a group of this kernel on this device. Throws UsageError for a negative
/// extent or a group larger than `max_group`, OverflowError if a rounded size exceeds 64 bits.
LaunchGeometry launch_geometry(const Range& range, const DeviceInfo& device, Size max_group);

/// Returns the text of kernel_language.h, which the OpenCL backend puts in front of every source.
std::string_view kernel_language_text();

}  // namespace peakmark
