#pragma once

// The library's side of the C ABI between a program and libpeakmark-worker (peakmark/worker_abi.h).
// The public Device, Array and errors (namespace api_1) are a header over this ABI, so that a program needs
// neither the compiler nor the libraries of peakmark; the functions here connect them to backend::Device and
// the errors of base/error.hpp.

#include <type_traits>
#include <vector>

#include "measure/device/device.hpp"
#include "measure/sweep/parameters.hpp"
#include "peakmark/worker_abi.h"

namespace peakmark {

/// Throws the error that a program reported: OutOfMemoryError, UnsupportedError, UsageError, OverflowError or
/// std::bad_alloc, and std::runtime_error for any other, after which the device may be broken. Returns if
/// there is no error.
void raise_failure(const peakmark_failure& failure);

/// Reports the exception that is being handled to the program. Call it in a `catch (...)`.
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

/// Returns the device as a struct of the C ABI. It points to `device`, which must outlive it.
peakmark_device abi_device(backend::Device& device);

/// The values of a case as a struct of the C ABI. It points into `parameters`, which must outlive it.
class AbiCase {
 public:
  explicit AbiCase(const Parameters& parameters);
  AbiCase(const AbiCase&) = delete;
  AbiCase& operator=(const AbiCase&) = delete;

  [[nodiscard]] const peakmark_case* abi() const { return &abi_; }

 private:
  std::vector<peakmark_value> values_;
  peakmark_case abi_{};
};

}  // namespace peakmark
