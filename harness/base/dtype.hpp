#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/size.hpp"

namespace peakmark {

/// The element type of an array: `f32` is numpy's float32.
enum class DType : std::uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, c64, c128 };

/// Returns the bytes of an element.
Size size_of(DType dtype);

/// Returns `f32`, `u16`, …
std::string_view to_string(DType dtype);

/// Returns numpy's name: `float32`.
std::string_view numpy_name(DType dtype);

/// Reads `f32` or numpy's `float32`. Throws UsageError with all names if there is no such type.
DType parse_dtype(std::string_view name);

/// Return `f32` or `float32` for either of the two names; any other name, such as numpy's `float16`,
/// unchanged.
std::string our_dtype_name(std::string_view name);
std::string numpy_dtype_name(std::string_view name);

template <typename T>
struct dtype_of_type;
// clang-format off
template <> struct dtype_of_type<std::uint8_t>  : std::integral_constant<DType, DType::u8> {};
template <> struct dtype_of_type<std::int8_t>   : std::integral_constant<DType, DType::i8> {};
template <> struct dtype_of_type<std::uint16_t> : std::integral_constant<DType, DType::u16> {};
template <> struct dtype_of_type<std::int16_t>  : std::integral_constant<DType, DType::i16> {};
template <> struct dtype_of_type<std::uint32_t> : std::integral_constant<DType, DType::u32> {};
template <> struct dtype_of_type<std::int32_t>  : std::integral_constant<DType, DType::i32> {};
template <> struct dtype_of_type<std::uint64_t> : std::integral_constant<DType, DType::u64> {};
template <> struct dtype_of_type<std::int64_t>  : std::integral_constant<DType, DType::i64> {};
template <> struct dtype_of_type<float>         : std::integral_constant<DType, DType::f32> {};
template <> struct dtype_of_type<double>        : std::integral_constant<DType, DType::f64> {};
// clang-format on

/// The DType of a C++ element type.
template <typename T>
inline constexpr DType dtype_of = dtype_of_type<std::remove_cv_t<T>>::value;

}  // namespace peakmark
