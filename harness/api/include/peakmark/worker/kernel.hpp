/// Kernels written once for OpenCL and CUDA, and the launch of one.
///
/// The source is C in a small dialect: macros that mean the same in OpenCL C 1.2 and in CUDA C++.
/// peakmark/kernel_language.h defines them; peakmark puts it in front of every source.
///
///     constexpr peakmark::KernelSource kSource{"scale", R"(
///     PM_KERNEL(scale)(PM_GLOBAL pm_element* data, pm_long count, pm_element factor) {
///       const pm_long i = pm_global_x();
///       if (i < count) data[i] *= factor;
///     })"};
///
///     kernel_ = device.kernel(kSource, "scale", "f32");      // in set_up
///     device.launch(kernel_, {.x = n}, {data_, n, 2.0F});    // in call
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace peakmark {
inline namespace api_1 {

/// A source that nvcc compiled for one element type when the program was built.
struct CudaImage {
  std::string_view dtype;            ///< numpy's short name, `f32`
  std::span<const std::byte> bytes;  ///< of the fatbin
};

/// The source of kernels. OpenCL compiles the text at run time; `dry` compiles nothing. CUDA needs an image
/// for each element type. CMake's peakmark_add_kernel_source(TARGET NAME FILE DTYPES f32 …) makes both from a
/// file. Without CMake, nvcc -fatbin -include peakmark/kernel_language.h -DPM_DTYPE_f32 -x cu makes an image.
struct KernelSource {
  std::string_view name;                        ///< shown in the compiler's messages
  std::string_view text;                        ///< in the dialect of kernel_language.h
  std::span<const CudaImage> cuda_images = {};  ///< one for each element type; empty: no CUDA
};

/// Work-items of a launch along x (the fastest), y and z. If a local size is 0, peakmark chooses it. The
/// number of items may be rounded up to whole groups, so a kernel must check its bounds.
struct Range {
  std::int64_t x = 1;        ///< work-items along x
  std::int64_t y = 1;        ///< work-items along y, at most kMaxAlongYZ
  std::int64_t z = 1;        ///< work-items along z, at most kMaxAlongYZ
  std::int64_t local_x = 0;  ///< work-items of a group along x
  std::int64_t local_y = 0;  ///< work-items of a group along y
  std::int64_t local_z = 0;  ///< work-items of a group along z
};

/// The maximum of items along y and along z that every device can launch with any group size. CUDA launches
/// at most 65,535 groups along y and z; a kernel must loop over further items.
inline constexpr std::int64_t kMaxAlongYZ = 65'535;

}  // namespace api_1
}  // namespace peakmark
