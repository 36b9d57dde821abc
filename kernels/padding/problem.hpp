#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "base/shape.hpp"
#include "base/size.hpp"
#include "peakmark/worker/case.hpp"

namespace peakmark {

/// How the image is padded: numpy.pad's modes, and `custom`, with a list of the image's row and column for
/// each padded row and column.
enum class PaddingMode : std::uint8_t { constant, edge, reflect, symmetric, wrap, custom };

std::string_view to_string(PaddingMode mode);
/// Throws UsageError that lists the modes.
PaddingMode parse_padding_mode(std::string_view name);
/// Returns the names of all modes, in the order of the enumeration.
std::vector<std::string> padding_mode_names();

/// One axis of an image: the number of its elements, and of padded elements before and after it.
struct PaddedAxis {
  Size extent = 1;
  Size before = 0;
  Size after = 0;
  [[nodiscard]] Size padded() const { return before + extent + after; }
};

/// The value of each side, for `constant`. The corners have the values of x, as in numpy, which pads y first.
struct SideValues {
  double y0 = 1, y1 = 2, x0 = 3, x1 = 4;
};

/// A stack (n, y.extent, x.extent) to be padded to (n, y.padded(), x.padded()).
struct PaddingProblem {
  PaddingMode mode = PaddingMode::edge;
  Size n = 1;
  PaddedAxis y, x;
  DType dtype = DType::f32;
  SideValues values;          ///< `constant` only
  std::vector<Size> rows;     ///< `custom` only: for each padded row, a row of the image
  std::vector<Size> columns;  ///< `custom` only: for each padded column, a column of the image

  [[nodiscard]] Shape input_shape() const { return {n, y.extent, x.extent}; }
  [[nodiscard]] Shape output_shape() const { return {n, y.padded(), x.padded()}; }
  [[nodiscard]] Shape image_shape() const { return {y.padded(), x.padded()}; }
};

/// Returns the bits of `value` as an element of `dtype`, in the low bytes. Throws UsageError if the type
/// cannot represent it.
std::uint64_t element_bits(double value, DType dtype);

/// Throws UsageError that names the axis or the coordinate, for an extent below 1, a negative pad, a size
/// that does not fit 64 bits, a dtype without a C++ type, a value of a side that the dtype cannot represent,
/// and for `custom` coordinates that are outside the image or whose number is not that of the padded rows and
/// columns.
void check(const PaddingProblem& problem);

/// The max number of padded rows, and of padded columns, of a case in mode `custom`: each list has 128 MiB of
/// host memory.
inline constexpr Size kMaxCustomCoordinates = Size{1} << 24;

/// Returns the checked problem of a case; `custom` is also checked against kMaxCustomCoordinates. Its side
/// values are 1, 2, 3, 4. Its custom coordinates are drawn from a fixed seed, in runs of up to the image's
/// length, which ascend, descend or are constant.
PaddingProblem padding_problem(const Case& asked);

}  // namespace peakmark
