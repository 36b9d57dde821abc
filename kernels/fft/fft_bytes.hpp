#pragma once

#include "kernels/fft/fft.hpp"

namespace peakmark {

// What VkFFT 1.2.26 holds on a device for a plan, written down: for estimators, which ask no device.

/// Lines that are transformed at a time: all, or as many as `most_work_bytes` has room for.
Size vkfft_lines_at_a_time(const FftPlan& plan);

/// 0 to a length of 8192; beyond, length/2 + 1 complex elements for each line that is transformed at a time.
Size vkfft_work_bytes(const FftPlan& plan);

/// Twiddle factors, by length, out of a table that write_tables.cpp makes. Throws Unsupported for a length
/// beyond the table, which ends at kLongestVkfftTable.
Size vkfft_table_bytes(Size length);
inline constexpr Size kLongestVkfftTable = 262'144;

}  // namespace peakmark
