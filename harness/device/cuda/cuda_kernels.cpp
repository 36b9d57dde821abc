#include "device/cuda/cuda_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "device/cuda/cuda_error.hpp"

namespace peakmark {

CudaKernels::~CudaKernels() {
  for (const auto& [key, library] : libraries_) cudaLibraryUnload(library);
}

cudaLibrary_t CudaKernels::library(const KernelSource& source, DType dtype) {
  const auto key = std::make_pair(std::string(source.text), dtype);
  if (const auto found = libraries_.find(key); found != libraries_.end()) return found->second;
  const auto image = std::ranges::find(source.cuda_images, to_string(dtype), &CudaImage::dtype);
  if (image == source.cuda_images.end()) {
    throw Unsupported(fmt::format("cuda: {} was not compiled for {}", source.name, to_string(dtype)));
  }
  cudaLibrary_t library = nullptr;
  check_cuda(cudaLibraryLoadData(&library, image->bytes.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
             fmt::format("load the kernels of {} for {}", source.name, to_string(dtype)));
  libraries_.emplace(key, library);
  return library;
}

cudaKernel_t CudaKernels::get(const KernelSource& source, std::string_view name, DType dtype) {
  cudaKernel_t kernel = nullptr;
  const cudaError_t result = cudaLibraryGetKernel(&kernel, library(source, dtype), std::string(name).c_str());
  if (result == cudaErrorSymbolNotFound || result == cudaErrorInvalidDeviceFunction) {
    cudaGetLastError();
    throw UsageError(fmt::format("cuda: {} has no kernel {}", source.name, name));
  }
  check_cuda(result, fmt::format("find the kernel {} of {}", name, source.name));
  return kernel;
}

}  // namespace peakmark
