#pragma once

#include <vector>

#include "kernels/fft/fft.hpp"
#include "peakmark/worker/variant.hpp"

namespace peakmark {

// Formulas of the device memory of a plan, for estimators, which use no device. VkFFT is of the version in
// the first line of vkfft_tables.inc; CMake compares it with that of the header.

/// Returns the parts, which are exact: `fft_tables` and, if there is any, `fft_work`.
std::vector<Part> fft_parts(FftLibrary library, const FftPlan& plan);

/// Returns the lines that VkFFT transforms at a time: all, or as many as fit `max_work_bytes`.
Size vkfft_lines_at_a_time(const FftPlan& plan);

/// Returns the bytes of cuFFT's work area, for every release and device: as large as the spectra, and within
/// `max_work_bytes`, but enough for one line. If the library needs more for a plan, the plan transforms
/// fewer lines at a time. Only if one line needs more is the area larger.
Size cufft_work_bytes(const FftPlan& plan);

/// Returns 0 up to a length of 8192; above, the bytes of length/2 + 1 complex elements for each line that is
/// transformed at a time.
Size vkfft_work_bytes(const FftPlan& plan);

/// Returns the bytes of the twiddle factors for a length, from a table that write_tables.cpp makes. Throws
/// Unsupported for a length that is not in the table. The table ends at kLongestVkfftTable, the longest
/// length seen to work on PoCL 3.1.
Size vkfft_table_bytes(Size length);
inline constexpr Size kLongestVkfftTable = 262'144;
/// Throws Unsupported for a longer length.
void check_vkfft_length(Size length);

/// Returns whether `length` (1 or more) has no prime factor above 7; FFT libraries transform such lengths
/// directly.
bool is_seven_smooth(Size length);

/// Returns the smallest 7-smooth multiple of 4 that is at least `least`. Throws OverflowError if there is
/// none in 64 bits.
Size next_fft_length(Size least);

}  // namespace peakmark
