#include "device/cuda/cuda_error.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace peakmark {

bool is_context_lost(cudaError_t result) {
  const int code = result;
  return code == cudaErrorIllegalAddress || code == cudaErrorLaunchTimeout || code == cudaErrorAssert ||
         (code >= cudaErrorHardwareStackError && code <= cudaErrorLaunchFailure) ||
         code == cudaErrorTensorMemoryLeak || code == cudaErrorContained ||
         code == cudaErrorMpsClientTerminated;
}

bool is_no_device(cudaError_t result) {
  return result == cudaErrorInsufficientDriver || result == cudaErrorStubLibrary ||
         result == cudaErrorNoDevice;
}

void check_cuda(cudaError_t result, std::string_view what) {
  if (result == cudaSuccess) return;
  const std::string message = fmt::format("cuda: cannot {}: {} ({}, {})", what, cudaGetErrorString(result),
                                          cudaGetErrorName(result), static_cast<int>(result));
  if (is_context_lost(result)) {
    throw MeasurementError(message + "; the context is lost, this process can do no more on the device");
  }
  // The runtime keeps the last error: left there, it would be taken for one of the next launch.
  cudaGetLastError();
  if (result == cudaErrorMemoryAllocation) throw OutOfMemory(message);
  if (result == cudaErrorNotSupported || result == cudaErrorNoKernelImageForDevice ||
      result == cudaErrorLaunchOutOfResources) {
    throw Unsupported(message);
  }
  throw MeasurementError(message);
}

}  // namespace peakmark
