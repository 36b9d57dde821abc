/// Functions for workers with kernels in plain CUDA. Needs the headers of the CUDA runtime, which worker.hpp
/// does not.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "peakmark/worker.hpp"

// Not in a namespace `cuda`: CUB, Thrust and libcu++ have one, and `using namespace peakmark` would make the
// name ambiguous.
namespace peakmark {
inline namespace api_1 {

/// Throws if `code` is not cudaSuccess: OutOfMemory if the device has too little memory, std::runtime_error
/// otherwise. `call`: the name of the call, for the message. After a launch: check_cuda(cudaGetLastError(),
/// "my_kernel").
inline void check_cuda(cudaError_t code, const std::string& call) {
  if (code == cudaSuccess) return;
  const std::string message = call + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")";
  cudaGetLastError();  // clears the error: otherwise the next launch fails with it
  if (code == cudaErrorMemoryAllocation) throw OutOfMemory(message);
  throw std::runtime_error(message);
}

}  // namespace api_1
}  // namespace peakmark
