#pragma once

#include "base/size.hpp"

namespace peakmark {

/// True when `length` (1 or more) has no prime factor beyond 7: what FFT libraries do without detours.
bool is_seven_smooth(Size length);

/// The least 7-smooth multiple of 4 that is `least` or more. OverflowError where there is none in 64 bits.
Size next_fft_length(Size least);

}  // namespace peakmark
