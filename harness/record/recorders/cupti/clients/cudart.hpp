#pragma once

// A CUDA runtime on top of the driver's documented calls, written from NVIDIA's public headers, for clients
// that use the shared runtime. NVIDIA's runtime refuses every driver that is not NVIDIA's, as it may.
#include <cuda.h>
#include <cuda_runtime_api.h>

namespace own_cudart {

/// Initialises the driver and makes the primary context of this thread's device current.
CUresult start();
/// Stores an error for cudaGetLastError. The runtime and the driver have the same error codes.
cudaError_t end(CUresult result);
/// Returns the device of this thread.
int current_device();

/// Makes a driver call in the primary context of this thread's device.
template <typename Call>
cudaError_t make(Call call) {
  const CUresult result = start();
  return end(result == CUDA_SUCCESS ? call() : result);
}

inline CUdeviceptr number(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

}  // namespace own_cudart
