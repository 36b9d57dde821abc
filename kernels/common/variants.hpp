#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "peakmark/worker_abi.h"

namespace peakmark {

// The library `base` throws UsageError and OverflowError; the public API knows std::invalid_argument and
// std::overflow_error instead.

/// Rethrows the current exception as one that the public API knows. Call it in a `catch (...)`.
[[noreturn]] void throw_api_error();

/// Calls `check`. Returns the message of its UsageError, or an empty text. Throws std::overflow_error for an
/// OverflowError.
std::string usage_error(const std::function<void()>& check);

/// Returns `formula` with the errors of `base` translated for the public API.
template <typename Formula>
auto with_api_errors(Formula formula) {
  return [formula = std::move(formula)](const auto&... arguments) {
    try {
      return formula(arguments...);
    } catch (...) {
      throw_api_error();
    }
  };
}

inline namespace api_1 {
class Worker;
}

/// Returns the variants that `add` adds to a Worker. They are valid until the program ends.
std::vector<const peakmark_variant*> variants_of(void (*add)(Worker&));

}  // namespace peakmark
