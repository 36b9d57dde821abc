#pragma once

#include <string>
#include <string_view>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "device/device.hpp"

namespace peakmark {

/// Calls `use` with a value of the C++ type of `dtype`, f32 or f64. UsageError for another one.
template <typename Use>
decltype(auto) with_floating(DType dtype, Use&& use) {
  switch (dtype) {
    case DType::f32:
      return use(float{});
    case DType::f64:
      return use(double{});
    default:
      throw UsageError("dtype " + std::string(to_string(dtype)) + " is not supported here; use f32 or f64");
  }
}

/// A factor with the width of the kernel's pm_element.
inline Argument floating_argument(DType dtype, double value) {
  return with_floating(dtype, [&](auto zero) { return Argument(static_cast<decltype(zero)>(value)); });
}

/// Throws Unsupported when the device does not compute in `dtype`.
inline void require_dtype(const DeviceInfo& device, DType dtype) {
  if (dtype == DType::f64 && !device.has_f64)
    throw Unsupported("the device '" + device.name + "' does not compute in f64; use dtype f32");
}

}  // namespace peakmark
