// Calls across the C ABI: an exception on one side becomes a peakmark_failure, and is thrown again on the
// other side. Nothing here is for programs.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <type_traits>

#include "peakmark/worker/case.hpp"
#include "peakmark/worker_abi.h"

namespace peakmark {
inline namespace api_1 {
namespace detail {

/// Throws what the library reported; returns if that is no error.
inline void raise(const peakmark_failure& failure) {
  switch (failure.kind) {
    case PEAKMARK_FINE:
      return;
    case PEAKMARK_OUT_OF_MEMORY:
      throw OutOfMemory(failure.message);
    case PEAKMARK_UNSUPPORTED:
      throw Unsupported(failure.message);
    case PEAKMARK_USAGE:
      throw std::invalid_argument(failure.message);
    default:
      throw std::runtime_error(failure.message);
  }
}

inline void note(peakmark_failure* failure, std::int32_t kind, const char* message) {
  failure->kind = kind;
  std::strncpy(failure->message, message, sizeof(failure->message) - 1);
  failure->message[sizeof(failure->message) - 1] = '\0';
}

/// Calls `step` and notes what it throws. No exception crosses the ABI.
template <typename Step>
void guard(peakmark_failure* failure, Step&& step) noexcept {
  try {
    step();
  } catch (const OutOfMemory& error) {
    note(failure, PEAKMARK_OUT_OF_MEMORY, error.what());
  } catch (const Unsupported& error) {
    note(failure, PEAKMARK_UNSUPPORTED, error.what());
  } catch (const std::invalid_argument& error) {
    note(failure, PEAKMARK_USAGE, error.what());
  } catch (const std::overflow_error& error) {
    note(failure, PEAKMARK_OVERFLOW, error.what());
  } catch (const std::bad_alloc&) {
    note(failure, PEAKMARK_HOST_OUT_OF_MEMORY, "the host has too little memory for this case");
  } catch (const std::exception& error) {
    note(failure, PEAKMARK_BROKEN, error.what());
  } catch (...) {
    note(failure, PEAKMARK_BROKEN, "it threw something that is not a std::exception");
  }
}

/// Calls `function(&failure)` of the library and throws what it reports.
template <typename Function>
auto call(Function&& function) {
  peakmark_failure failure{};
  if constexpr (std::is_void_v<decltype(function(&failure))>) {
    function(&failure);
    raise(failure);
  } else {
    const auto result = function(&failure);
    raise(failure);
    return result;
  }
}

/// Returns numpy's short name of an element type.
template <typename T>
constexpr const char* dtype_name() {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8,
                "arrays are of integers, float or double");
  if constexpr (std::is_same_v<T, float>) return "f32";
  if constexpr (std::is_same_v<T, double>) return "f64";
  constexpr const char* kSigned[] = {"i8", "i16", "i32", "i64"};
  constexpr const char* kUnsigned[] = {"u8", "u16", "u32", "u64"};
  constexpr int kSize = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return std::is_signed_v<T> ? kSigned[kSize] : kUnsigned[kSize];
}

}  // namespace detail

}  // namespace api_1
}  // namespace peakmark
