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
/// `vkfft`, `cufft`: the words of the axis `fft`.
std::vector<std::string> fft_names();
/// Throws UsageError for another word.
FftLibrary parse_fft_library(std::string_view name);

struct FftPlan {
  Size length = 0;       ///< real elements of a line, even
  Size lines = 1;        ///< lines that a call transforms
  Size array_lines = 0;  ///< lines of the arrays, where they hold more than a call transforms
  /// true: a line of the spectrum replaces the line of real elements, `length` + 2 reals apart.
  /// false: lines of `length` reals in one array, of length/2 + 1 complex elements in another.
  bool in_place = true;
  /// Max bytes of the work area of a transform in several passes, but at least enough for a line; limits the
  /// number of lines that are transformed at a time. 0: no limit. Only between two arrays. The area of cuFFT
  /// is also limited to the spectra of its lines (cufft_work_bytes).
  Size max_work_bytes = 0;
};

/// Batched transforms of real lines and back, f32, along the last axis, by a library. Not normalised: back
/// and forth gives `length` times the input. What the library needs on the device is in named arrays:
/// `fft_tables` (its twiddle factors), `fft_work` (what it works in; few plans need it).
class RealFft {
 public:
  RealFft() = default;
  RealFft(const RealFft&) = delete;
  RealFft& operator=(const RealFft&) = delete;
  virtual ~RealFft() = default;

  /// Enqueue the transform of `lines` lines, the first being line `first` of both arrays. In place, both are
  /// one array. `backward` may destroy `spectra`.
  virtual void forward(DeviceArray& reals, DeviceArray& spectra, Size first) = 0;
  virtual void backward(DeviceArray& spectra, DeviceArray& reals, Size first) = 0;
  /// In place.
  void forward(DeviceArray& lines, Size first) { forward(lines, lines, first); }
  void backward(DeviceArray& lines, Size first) { backward(lines, lines, first); }

  /// Returns its memory on the device.
  [[nodiscard]] virtual Size table_bytes() const = 0;
  [[nodiscard]] virtual Size work_bytes() const = 0;
};

/// Makes the plan on the device; on `dry` the plan that VkFFT makes on PoCL, without compiling it.
/// Throws Unsupported, before anything is allocated, for a length that the library cannot do on this device.
std::unique_ptr<RealFft> make_real_fft(Device& device, FftLibrary library, const FftPlan& plan);

/// Throws Unsupported where make_real_fft would, as far as that is known without a plan: a library that does
/// not run on this backend or is not built in; a length that is odd or has a prime factor beyond 7, or, for
/// VkFFT, is beyond the longest that was seen to work.
void check_fft(const Device& device, FftLibrary library, Size length);

}  // namespace peakmark
