#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kernels/padding/problem.hpp"

namespace peakmark {

/// Returns the element of an axis of `extent` elements that numpy.pad puts at `i` in this mode (0: the first
/// element; below 0 and from `extent` on: the padding). Returns null if `constant` puts a value there. Not
/// for `custom`.
std::optional<Size> source_index(Size i, Size extent, PaddingMode mode);

/// Return the row (column) of the image for each padded row (column); −1 stands for the value of a side.
std::vector<Size> source_rows(const PaddingProblem& problem);
std::vector<Size> source_columns(const PaddingProblem& problem);

/// Computes one row of the padded image. `image_row` is row source_rows()[row] of the image; it is not read
/// if that is −1. `columns` is source_columns().
template <typename T>
void pad_row(const PaddingProblem& problem, Size row, std::span<const Size> columns,
             std::span<const T> image_row, std::span<T> padded_row);

/// Pads a whole stack: `input` has the shape problem.input_shape(), the result problem.output_shape().
template <typename T>
std::vector<T> pad(const PaddingProblem& problem, std::span<const T> input);

}  // namespace peakmark
