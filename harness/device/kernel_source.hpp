#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/dtype.hpp"

namespace peakmark {

/// A CUDA fatbin of a source, compiled for one element type at build time.
struct CudaImage {
  DType dtype;
  std::span<const std::byte> bytes;
};

/// Device code written once for OpenCL C and CUDA C++ (the dialect of device/kernel_language.h): its text,
/// compiled at run time by OpenCL, and its CUDA images (none without CUDA). The CMake function
/// peakmark_add_kernel_source embeds both.
struct KernelSource {
  std::string_view name;
  std::string_view text;
  std::span<const CudaImage> cuda_images;
};

/// Returns the text of kernel_language.h, which the OpenCL backend puts in front of every source.
std::string_view kernel_language_text();

}  // namespace peakmark
