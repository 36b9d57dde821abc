/// Help for workers whose kernels are CUDA's. It asks for the runtime's headers; worker.hpp does not.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "peakmark/worker.hpp"

// No namespace `cuda` here: CUDA's own headers (CUB, Thrust, libcu++) have one, and a program that is `using
// namespace peakmark` would mean both.
namespace peakmark {
inline namespace api_1 {

/// Throws where `code` is no success: OutOfMemory where the device has no room, else std::runtime_error.
/// `call`: what was called, for the message. After a launch: check_cuda(cudaGetLastError(), "my_kernel").
inline void check_cuda(cudaError_t code, const std::string& call) {
  if (code == cudaSuccess) return;
  const std::string message = call + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")";
  cudaGetLastError();  // or the next launch of anybody fails with it
  if (code == cudaErrorMemoryAllocation) throw OutOfMemory(message);
  throw std::runtime_error(message);
}

}  // namespace api_1
}  // namespace peakmark
