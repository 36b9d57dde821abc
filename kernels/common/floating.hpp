#pragma once

#include <string>

#include "base/dtype.hpp"
#include "base/error.hpp"

namespace peakmark {

/// Calls `use` with a zero of the C++ type of `dtype`. Throws UsageError unless it is f32 or f64.
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

}  // namespace peakmark
