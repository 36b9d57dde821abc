#pragma once

#include <memory>

#include "kernels/fft/fft.hpp"

namespace peakmark {

// Each library on each backend, in a file of its own. They do not check the length.

std::unique_ptr<RealFft> make_vkfft_opencl(Device& device, const FftPlan& plan);  // also on `dry`
std::unique_ptr<RealFft> make_vkfft_cuda(Device& device, const FftPlan& plan);
std::unique_ptr<RealFft> make_cufft(Device& device, const FftPlan& plan);

}  // namespace peakmark
