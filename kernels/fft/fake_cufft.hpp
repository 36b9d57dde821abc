#pragma once

#include <cstddef>

// A cuFFT on the host, for tests without a GPU: a shared library under the real one's name, which does what
// cufft.cpp asks of it in plain loops over host memory, and is strict about it: a work area that is missing
// is an error, one that is there is overwritten, and so is what a transform back reads.
namespace peakmark::fake_cufft {

/// The work bytes that a plan of this length and these lines needs.
using Wants = std::size_t (*)(long long length, long long lines);
void set_wants(Wants wants);
/// What making a plan answers (a cufftResult); 0 makes it.
void set_answer(int answer);
/// Plans that are not destroyed.
std::size_t live_plans();

}  // namespace peakmark::fake_cufft
