#pragma once

#include <type_traits>

#include "peakmark/worker_abi.h"

namespace peakmark {

/// Throws what a program reported through the seam: OutOfMemory, Unsupported, UsageError, std::bad_alloc, or
/// std::runtime_error after which the device may be broken. Nothing where all is fine.
void raise_failure(const peakmark_failure& failure);

/// Notes what is being thrown, for the program. To be called in a `catch (...)`.
void note_failure(peakmark_failure* failure) noexcept;

/// Calls `function(&failure)` of the program, and throws what it reports.
template <typename Function>
auto call_program(Function&& function) {
  peakmark_failure failure{};
  if constexpr (std::is_void_v<decltype(function(&failure))>) {
    function(&failure);
    raise_failure(failure);
  } else {
    const auto result = function(&failure);
    raise_failure(failure);
    return result;
  }
}

}  // namespace peakmark
