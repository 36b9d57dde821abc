#pragma once

#include <functional>
#include <string>
#include <utility>

namespace peakmark {

// The library `base` throws UsageError and OverflowError; the public API knows std::invalid_argument and
// std::overflow_error instead.

/// Throws the exception that is being handled, as one that the public API knows. Call it in a `catch (...)`.
[[noreturn]] void throw_api_error();

/// Calls `check`. Returns the message of a UsageError, empty without one. Throws std::overflow_error for an
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

}  // namespace peakmark
