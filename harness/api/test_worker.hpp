#pragma once

#include <peakmark/worker.hpp>

// Includes only headers that users may include.

/// Bytes of a case of KnownBytes, in floats: a plan of 1,000, and for each slice an input of 100, an output
/// of 300 and, during the call, a temporary of 100.
inline constexpr peakmark::Size kPlanBytes = 4000;
inline constexpr peakmark::Size kSliceBytes = 2000;

void add_kernels(peakmark::Worker& worker);
#ifdef PEAKMARK_HAS_OPENCL
void add_opencl(peakmark::Worker& worker);
#endif
