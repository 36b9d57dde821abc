#pragma once

#include <fmt/format.h>

#include <cstdint>
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

/// Calls `f` with a value of the C++ type of `dtype`. Throws UsageError for the types that have none.
template <typename F>
auto with_element_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::u8:
      return f(std::uint8_t{});
    case DType::i8:
      return f(std::int8_t{});
    case DType::u16:
      return f(std::uint16_t{});
    case DType::i16:
      return f(std::int16_t{});
    case DType::u32:
      return f(std::uint32_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::u64:
      return f(std::uint64_t{});
    case DType::i64:
      return f(std::int64_t{});
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::c64:
    case DType::c128:
      break;
  }
  throw UsageError(
      fmt::format("padding: elements of type {} are not supported; write one of u8, i8, u16, i16, u32, "
                  "i32, u64, i64, f32, f64",
                  to_string(dtype)));
}

/// Returns the unsigned integer of the same size: elements are moved as bits.
inline DType bits_of(DType dtype) {
  return with_element_type(dtype, []<typename T>(T) {
    if constexpr (sizeof(T) == 1) return DType::u8;
    if constexpr (sizeof(T) == 2) return DType::u16;
    if constexpr (sizeof(T) == 4) return DType::u32;
    if constexpr (sizeof(T) == 8) return DType::u64;
  });
}

}  // namespace peakmark
