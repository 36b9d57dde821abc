#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "peakmark/worker/device.hpp"

namespace peakmark {

/// VkFFT runs on OpenCL and CUDA, and is planned on `dry`; cuFFT runs on CUDA.
enum class FftLibrary : std::uint8_t { vkfft, cufft };
std::string_view to_string(FftLibrary library);
/// Returns `vkfft` or `cufft`, the words of the axis `fft`.
std::vector<std::string> fft_names();
/// Throws UsageError for another word.
FftLibrary parse_fft_library(std::string_view name);

struct FftPlan {
  Size length = 0;       ///< real elements of a line, even
  Size lines = 1;        ///< lines that a call transforms
  Size array_lines = 0;  ///< lines of the arrays, if they have more than a call transforms
  /// If true, a line of the spectrum replaces the line of real elements; lines are `length` + 2 reals apart.
  /// If false, one array has lines of `length` reals, another one lines of length/2 + 1 complex elements.
  bool in_place = true;
  /// Max bytes of the work area of a transform in several passes, but at least enough for a line. It limits
  /// the number of lines that are transformed at a time. 0: no limit. Only for transforms between two arrays.
  /// The area of cuFFT is also limited to the bytes of its lines' spectra (cufft_work_bytes).
  Size max_work_bytes = 0;
};

/// Batched transforms of real lines and back, in f32, along the last axis, by a library. Not normalised:
/// forward and backward give `length` times the input. The library's device memory is in named arrays:
/// `fft_tables` (twiddle factors) and `fft_work` (its work area, which few plans need).
class RealFft {
 public:
  RealFft() = default;
  RealFft(const RealFft&) = delete;
  RealFft& operator=(const RealFft&) = delete;
  virtual ~RealFft() = default;

  /// Enqueue the transform of `lines` lines, from line `first` of both arrays on. In place, both are one
  /// array. `backward` may overwrite `spectra`.
  virtual void forward(DeviceArray& reals, DeviceArray& spectra, Size first) = 0;
  virtual void backward(DeviceArray& spectra, DeviceArray& reals, Size first) = 0;
  /// For transforms in place.
  void forward(DeviceArray& lines, Size first) { forward(lines, lines, first); }
  void backward(DeviceArray& lines, Size first) { backward(lines, lines, first); }

  /// Returns the plan's memory on the device.
  [[nodiscard]] virtual Size table_bytes() const = 0;
  [[nodiscard]] virtual Size work_bytes() const = 0;
};

/// Makes the plan on the device; on `dry` the plan that VkFFT makes on PoCL, without compiling it. Throws
/// Unsupported, before it allocates anything, for a length that the library cannot transform on this device.
std::unique_ptr<RealFft> make_real_fft(Device& device, FftLibrary library, const FftPlan& plan);

/// Throws Unsupported if make_real_fft would, as far as this is known without a plan: for a library that does
/// not run on this backend or is not built in; for a length that is odd or has a prime factor above 7, or,
/// for VkFFT, is longer than the longest that was seen to work.
void check_fft(const Device& device, FftLibrary library, Size length);

}  // namespace peakmark
