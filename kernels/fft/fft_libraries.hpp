#pragma once

#include <memory>

#include "base/size.hpp"
#include "kernels/fft/fft.hpp"

namespace peakmark {

// Each library on each backend is in its own file. These functions do not check the length.

std::unique_ptr<RealFft> make_vkfft_opencl(Device& device, const FftPlan& plan);  // also on `dry`
std::unique_ptr<RealFft> make_vkfft_cuda(Device& device, const FftPlan& plan);
std::unique_ptr<RealFft> make_cufft(Device& device, const FftPlan& plan);

/// The local memory that is reported to VkFFT on every device. So a plan has the same passes on all devices,
/// and needs a work area from the same length on. The smallest common GPUs have this size: 4096 complex
/// elements. On PoCL 3.1, where local memory is in the caches, transforms from length 16384 on are two to ten
/// times as fast as with the 1 MiB that it reports. With 1 MiB (and 4096 threads), kernels crash from 98304
/// on.
inline constexpr Size kVkfftLocalMemoryBytes = Size{32} << 10;

/// The same for a CPU, whose limits depend on the driver, and for the device that `dry` plans for.
inline constexpr unsigned kVkfftCpuVendor = 0;
inline constexpr Size kVkfftCpuThreads = 1024;

/// The longest line that is transformed in one pass, as pairs of neighbours or by merging two lines. For
/// longer lines, a plan needs work lines of (length/2 + 1) complex elements.
inline constexpr Size kVkfftLongestOnePass = kVkfftLocalMemoryBytes / 4;

}  // namespace peakmark
