#pragma once

#include <vector>

#include "kernels/fbp/problem.hpp"
#include "peakmark/worker/variant.hpp"

namespace peakmark {

/// Returns all memory on the device at the peak, exactly. Each term has the name of its allocation. With S =
/// 4·n_a·w bytes of a sinogram and P = 4·n_a·(padded width):
/// - all: `sinograms`, `slices`; tables of the angles (angle_parts); `filter`, `fft_tables`, and `fft_work`
///   if lines need several passes
/// - half-acquisition: `mirrors`; whole has n_a/2 joined lines of the slice's width instead of n_a lines of
///   width w
/// - whole: `filtered` S, `padded` P, `spectrum` a little more, and `template` P (mode constant) or
///   `row_coordinates` and `column_coordinates`, P each, once
/// - inplace: `work`, and `columns` except in mode constant
/// - kept: as inplace, and `filtered` S
/// If `chunk` is below n_z, memory for each slice processed at a time is fixed. Else all n_z slices are
/// processed at once, and this memory is per slice. Throws UsageError like check() and line_batch().
std::vector<Part> fbp_parts(const FbpShape& shape, const FbpOptions& options);

/// Returns the device bytes for the shape's n_z slices, with all sinograms and slices resident.
Size estimate_required_memory(const FbpShape& shape, const FbpOptions& options);

/// Returns the largest number of slices that can be resident in `available_bytes`: 0 if not even one fits, at
/// most n_z. A longer stack is processed in parts of this size. It is the largest number for which
/// estimate_required_memory is within `available_bytes`; if it is below `chunk`, all of them are processed
/// together.
Size estimate_max_chunk_size(Size available_bytes, const FbpShape& shape, const FbpOptions& options);

/// Returns the estimate of nabu's authors, from nabu's issue on the memory of filtered back-projection:
/// 4·(5·n_a·w + w²) bytes per slice, for sinogram, padded sinogram, its transform, and slice. It ignores
/// method, mode and region, and is wrong for each of the methods here.
std::vector<Part> nabu_parts(Size n_a, Size w);

}  // namespace peakmark
