#pragma once

#include <cstddef>

// A cuFFT on the host, for tests without a GPU: a shared library with the real one's name. It computes the
// transforms that cufft.cpp requests in plain loops over host memory, and is strict: a missing work area is
// an error, and it overwrites the work area and the input of a backward transform.
namespace peakmark::fake_cufft {

/// Returns the work bytes that a plan for this length and number of lines needs.
using Wants = std::size_t (*)(long long length, long long lines);
void set_wants(Wants wants);
/// The result of creating a plan (a cufftResult); 0 creates it.
void set_answer(int answer);
/// The number of plans that are not destroyed.
std::size_t live_plans();

}  // namespace peakmark::fake_cufft
