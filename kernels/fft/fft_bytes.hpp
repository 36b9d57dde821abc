#pragma once

#include <vector>

#include "estimate/estimator.hpp"
#include "kernels/fft/fft.hpp"

namespace peakmark {

// What a plan holds on a device, written down: for estimators, which ask no device. VkFFT is version 1.2.26.

/// Its parts: `fft_tables` and, where there is any, `fft_work`. Exact.
std::vector<Term> fft_terms(FftLibrary library, const FftPlan& plan);

/// Lines that VkFFT transforms at a time: all, or as many as `most_work_bytes` has room for.
Size vkfft_lines_at_a_time(const FftPlan& plan);

/// The work area that is made for cuFFT, whatever release and device: as large as the spectra, and within
/// `most_work_bytes`, but for one line at the least. A plan of which the library says that it wants more
/// transforms fewer lines at a time; only where one line wants more is the area that much larger.
Size cufft_work_bytes(const FftPlan& plan);

/// 0 to a length of 8192; beyond, length/2 + 1 complex elements for each line that is transformed at a time.
Size vkfft_work_bytes(const FftPlan& plan);

/// Twiddle factors, by length, out of a table that write_tables.cpp makes. Throws Unsupported for a length
/// that is not in the table, which ends at kLongestVkfftTable: the longest seen to work on PoCL 3.1.
Size vkfft_table_bytes(Size length);
inline constexpr Size kLongestVkfftTable = 262'144;
/// Throws Unsupported beyond it.
void check_vkfft_length(Size length);

}  // namespace peakmark
