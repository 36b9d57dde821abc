#include "kernels/fft/fft.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "kernels/fft/fft_bytes.hpp"
#include "kernels/fft/length.hpp"
#include "kernels/fft/libraries.hpp"

namespace peakmark {
namespace {

/// The longest line seen to work on PoCL 3.1, and of which the tables' bytes are known.
constexpr Size kLongestOnPocl = kLongestVkfftTable;

bool plans_like_pocl(const DeviceInfo& device) {
  return device.backend == Backend::dry || device.platform == "Portable Computing Language";
}

}  // namespace

std::string_view name_of(FftLibrary library) {
  return library == FftLibrary::cufft ? "cufft" : "vkfft";
}

std::vector<std::string> fft_names() {
  return {"auto", "vkfft", "cufft"};
}

FftLibrary choose_fft_library(std::string_view name, const DeviceInfo& device) {
  const bool cuda = device.backend == Backend::cuda;
  if (name == "vkfft") return FftLibrary::vkfft;
  if (name == "auto") return cuda ? FftLibrary::cufft : FftLibrary::vkfft;
  if (name != "cufft")
    throw UsageError(fmt::format("fft: no library '{}'; there are auto, vkfft, cufft", name));
  if (!cuda)
    throw Unsupported(fmt::format(
        "fft:cufft runs on CUDA; on {} there is fft:vkfft{}", name_of(device.backend),
        device.backend == Backend::dry ? " (what a cuFFT plan needs is only known where a GPU makes it)"
                                       : ""));
  return FftLibrary::cufft;
}

void check_fft_length(const DeviceInfo& device, FftLibrary library, Size length) {
  if (length < 4 || length % 2 != 0 || !is_seven_smooth(length))
    throw Unsupported(fmt::format(
        "fft: length {}; peakmark transforms even lengths without prime factors beyond 7", length));
  if (library == FftLibrary::vkfft && plans_like_pocl(device) && length > kLongestOnPocl)
    throw Unsupported(
        fmt::format("fft: length {} is beyond {}, the longest that was seen to work with VkFFT on PoCL{}",
                    length, kLongestOnPocl, device.backend == Backend::dry ? ", which dry plans by" : ""));
}

std::unique_ptr<RealFft> make_real_fft(Device& device, FftLibrary library, const FftPlan& plan) {
  check_fft_length(device.info(), library, plan.length);
  if (plan.lines < 1) throw UsageError(fmt::format("fft: a plan of {} lines", plan.lines));
  if (library == FftLibrary::cufft) {
#ifdef PEAKMARK_FFT_CUDA
    return make_cufft(device, plan);
#endif
  } else if (device.info().backend == Backend::cuda) {
#ifdef PEAKMARK_FFT_CUDA
    return make_vkfft_cuda(device, plan);
#endif
  } else {
#ifdef PEAKMARK_FFT_OPENCL
    return make_vkfft_opencl(device, plan);
#endif
  }
  throw Unsupported(fmt::format("fft: this peakmark was built without {} for {}", name_of(library),
                                name_of(device.info().backend)));
}

}  // namespace peakmark
