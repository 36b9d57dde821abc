#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/dtype.hpp"

namespace peakmark {

/// One CUDA image (a fatbin) of a source, compiled for one element type at build time.
struct CudaImage {
  DType dtype;
  std::span<const std::byte> bytes;
};

/// Device code written once for OpenCL C and CUDA C++ (see kernels/shim.h): its text, compiled at run time by
/// OpenCL, and its CUDA images, none where peakmark was built without CUDA. Made by the CMake function
/// peakmark_add_kernel_source, which embeds both.
struct KernelSource {
  std::string_view name;
  std::string_view text;
  std::span<const CudaImage> cuda_images;
};

}  // namespace peakmark
