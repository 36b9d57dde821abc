#include "kernels/fft/fft.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "kernels/fft/fft_bytes.hpp"
#include "kernels/fft/fft_libraries.hpp"

namespace peakmark {
namespace {

using Make = std::unique_ptr<RealFft> (*)(Device&, const FftPlan&);

// Null if the library is not built in.
#ifdef PEAKMARK_FFT_CUFFT
constexpr Make kCufft = make_cufft;
#else
constexpr Make kCufft = nullptr;
#endif
#ifdef PEAKMARK_FFT_VKFFT_CUDA
constexpr Make kVkfftOnCuda = make_vkfft_cuda;
#else
constexpr Make kVkfftOnCuda = nullptr;
#endif
#ifdef PEAKMARK_FFT_OPENCL
constexpr Make kVkfftOnOpenCl = make_vkfft_opencl;
#else
constexpr Make kVkfftOnOpenCl = nullptr;
#endif

Make maker(const Device& device, FftLibrary library) {
  const bool is_cuda = device.backend() == "cuda";
  if (library == FftLibrary::cufft) return is_cuda ? kCufft : nullptr;
  return is_cuda ? kVkfftOnCuda : kVkfftOnOpenCl;
}

}  // namespace

std::string_view to_string(FftLibrary library) {
  return library == FftLibrary::cufft ? "cufft" : "vkfft";
}

std::vector<std::string> fft_names() {
  return {"vkfft", "cufft"};
}

FftLibrary parse_fft_library(std::string_view name) {
  if (name == "vkfft") return FftLibrary::vkfft;
  if (name == "cufft") return FftLibrary::cufft;
  throw UsageError(fmt::format("fft: unknown library '{}'; write vkfft or cufft", name));
}

void check_fft(const Device& device, FftLibrary library, Size length) {
  if (library == FftLibrary::cufft && device.backend() != "cuda")
    throw Unsupported(
        fmt::format("fft: cufft runs on CUDA only; on {} use vkfft{}", device.backend(),
                    device.is_dry() ? " (the memory of a cuFFT plan is known only on a GPU)" : ""));
  if (maker(device, library) == nullptr)
    throw Unsupported(
        fmt::format("fft: this peakmark was built without {} for {}", to_string(library), device.backend()));
  if (length < 4 || length % 2 != 0 || !is_seven_smooth(length))
    throw Unsupported(fmt::format(
        "fft: length {}; peakmark transforms even lengths without prime factors beyond 7", length));
  if (library == FftLibrary::vkfft) check_vkfft_length(length);
}

std::unique_ptr<RealFft> make_real_fft(Device& device, FftLibrary library, const FftPlan& plan) {
  check_fft(device, library, plan.length);
  if (plan.lines < 1) throw UsageError(fmt::format("fft: a plan of {} lines", plan.lines));
  return maker(device, library)(device, plan);
}

}  // namespace peakmark
