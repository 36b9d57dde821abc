#pragma once

#include <span>
#include <vector>

#include "kernels/backprojection/geometry.hpp"

namespace peakmark {

/// Throws UsageError for an odd number of lines, which half-acquisition cannot join in pairs.
void check_pairs(Size n_a);

/// Half-acquisition in the form that a filter needs. To weight and filter each line alone is not enough:
/// values that a filter spreads beyond the near edge of the detector would be lost, and the error would be as
/// large as the slice's values. So each line is joined with its opposite, half a turn later, to one line as
/// wide as the slice (see opposite_lines.kernel.h). Half a turn of these lines is filtered and projected
/// back.
///
/// The joined line is as wide as the slice, around the corrected axis of line a. If that axis is further out,
/// both lines have seen further, and the joined line is moved with it, in whole columns. Columns beyond it,
/// which are not in the slice, are removed before the filter.
struct JoinedScan {
  /// Throws UsageError if the geometry, which must be valid, is not a half-acquisition or has no opposite
  /// lines: if their number is odd; if line a + n_a/2 is not half a turn from line a, to a tenth of a column
  /// at the edge of the slice; or if corrections move the axis, as mean of two opposite lines, out of the
  /// sinogram, so that neither line has seen the columns between them.
  explicit JoinedScan(const BackprojectionGeometry& geometry);

  Size half = 1;      ///< n_a/2: joined lines
  Size w = 2;         ///< columns of a measured line
  Size side = 2;      ///< columns of a joined line: the side of the slice
  Size added = 0;     ///< number of its columns before column 0 of the line, if it is not moved
  Size split = 1;     ///< column at which filtered lines are split, to return to their places
  bool right = true;  ///< the axis is nearer to the last column than to the first

  /// How a pair is joined: the axis in each of the two lines, the position of column 0 of one in the other,
  /// and the number of columns by which their joined line is moved towards the edge near the axis.
  struct Mirror {
    double axis, opposite_axis, whole, fraction;
    Size moved;  ///< below 0: towards the first column
  };
  std::vector<Mirror> mirrors;

  /// Returns the column of line `a` that is column `j` of the joined line. It is outside [0, w) if only the
  /// opposite line may have seen it.
  [[nodiscard]] Size column_of(Size a, Size j) const {
    return j - added + mirrors[static_cast<std::size_t>(a)].moved;
  }

  /// The geometry of the joined lines (n_a/2, side), half a turn.
  BackprojectionGeometry joined;
  /// The geometry of joined lines that are split: (n_a, w). Line a has columns 0 to split, line a + n_a/2 the
  /// other columns of the same angle.
  BackprojectionGeometry parted;

  /// Return the contributions of `line` and of `opposite` (w columns each) to joined line `a`, for
  /// references.
  [[nodiscard]] std::vector<float> part_of_line(Size a, std::span<const float> line) const;
  [[nodiscard]] std::vector<float> part_of_opposite(Size a, std::span<const float> opposite) const;

 private:
  [[nodiscard]] double weight_of_line(Size a, Size i) const;
};

}  // namespace peakmark
