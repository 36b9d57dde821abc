#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "peakmark/worker/kernel.hpp"

namespace peakmark {

/// The kernels of one device, loaded from their fatbins at the first use of each and kept until this object
/// dies.
class CudaKernels {
 public:
  CudaKernels() = default;
  ~CudaKernels();
  CudaKernels(const CudaKernels&) = delete;
  CudaKernels& operator=(const CudaKernels&) = delete;

  /// Throws Unsupported when the source has no image of this dtype, UsageError when it has no such kernel.
  cudaKernel_t get(const KernelSource& source, std::string_view name, DType dtype);

 private:
  cudaLibrary_t library(const KernelSource& source, DType dtype);

  std::map<std::pair<std::string, DType>, cudaLibrary_t> libraries_;
};

}  // namespace peakmark
