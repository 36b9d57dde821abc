#pragma once

#include <vector>

#include "kernels/fbp/problem.hpp"
#include "peakmark/worker/variant.hpp"

namespace peakmark {

/// All that is on the device at the peak, exact, each term named as its allocation. With S = 4·n_a·w bytes of
/// a sinogram, P = 4·n_a·(padded width):
/// - all: `sinograms`, `slices`; tables of the angles (angle_parts); `filter`, `fft_tables`, where lines need
///   several passes `fft_work`
/// - half-acquisition: `mirrors`; whole has joined lines, n_a/2 of the slice's width, in the place of n_a of
/// w
/// - whole: `filtered` S, `padded` P, `spectrum` a little more, and `template` P (mode constant) or
///   `row_coordinates` and `column_coordinates`, P each, once
/// - inplace: `work`, and `columns` but for mode constant
/// - kept: as inplace, and `filtered` S
/// What is there for each of the slices worked on at a time is fixed where `chunk` is below n_z; else all n_z
/// are worked on at once, and it is per slice.
/// UsageError as check() and line_batch().
std::vector<Part> fbp_parts(const FbpShape& shape, const FbpOptions& options);

/// Device bytes for the shape's n_z slices, sinograms and slices resident.
Size estimate_required_memory(const FbpShape& shape, const FbpOptions& options);

/// How many slices of the stack fit `available_bytes` at once: the most that can be resident, 0 where not
/// even one fits, at most n_z. A longer stack goes through the device in so many at a time. It is the largest
/// number that estimate_required_memory has within `available_bytes`: fewer than `chunk` are worked on
/// together.
Size estimate_max_chunk_size(Size available_bytes, const FbpShape& shape, const FbpOptions& options);

/// What nabu's authors give in its issue on the memory of filtered back-projection:
/// 4·(5·n_a·w + w²) bytes a slice: sinogram, padded sinogram and its transform, slice. It knows no method, no
/// mode and no region, and is wrong for each of the methods here.
std::vector<Part> nabu_parts(Size n_a, Size w);

}  // namespace peakmark
