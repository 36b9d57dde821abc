#pragma once

#include <span>
#include <vector>

#include "kernels/backprojection/geometry.hpp"

namespace peakmark {

/// UsageError for an odd number of lines, which half-acquisition cannot join in pairs.
void check_pairs(Size n_a);

/// Half-acquisition as a filter needs it. Weighting each line by itself and filtering it is not enough: what
/// a filter spreads beyond the near edge of the detector would be lost, and the slice be wrong by as much as
/// it is bright. So each line is joined with its opposite, half a turn later, to one line as wide as the
/// slice (see opposite_lines.kernel.h), of which half a turn is filtered and projected back.
///
/// It is as wide as the slice about the axis of line a, corrected: where that is further out, both lines have
/// seen further, and the joined line is moved along, in whole columns. What was seen beyond it, and is not in
/// the slice, is left out before the filter.
struct JoinedScan {
  /// Throws UsageError where the geometry, right otherwise, is no half-acquisition or has no opposite lines:
  /// an odd number of them; line a + n_a/2 not half a turn from line a, to a tenth of a column at the edge of
  /// the slice; corrections with which the axis, in the mean of two opposite lines, leaves the sinogram, so
  /// that neither has seen the columns between them.
  explicit JoinedScan(const BackprojectionGeometry& geometry);

  Size half = 1;      ///< n_a/2: joined lines
  Size w = 2;         ///< columns of a line as it was measured
  Size side = 2;      ///< columns of a joined line: the side of the slice
  Size added = 0;     ///< of them, those before the line's own first where it is not moved
  Size split = 1;     ///< filtered lines are parted here, to lie where they came from
  bool right = true;  ///< the axis is nearer to the last column than to the first

  /// Where a pair is joined: the axis in each of the two lines, where column 0 of the one lies in the other,
  /// and by how many columns of the line their joined line is moved towards the edge that the axis is near.
  struct Mirror {
    double axis, opposite_axis, whole, fraction;
    Size moved;  ///< below 0: towards the first column
  };
  std::vector<Mirror> mirrors;

  /// The column of line `a` that is column `j` of the joined line; outside [0, w) where only its opposite may
  /// have seen it.
  [[nodiscard]] Size column_of(Size a, Size j) const {
    return j - added + mirrors[static_cast<std::size_t>(a)].moved;
  }

  /// Joined lines (n_a/2, side), half a turn.
  BackprojectionGeometry joined;
  /// Joined lines, parted: (n_a, w). Line a has columns 0 to split, line a + n_a/2 the others of the same
  /// angle.
  BackprojectionGeometry parted;

  /// Joined line `a` in double precision, for references: what `line` and what `opposite` (w columns each)
  /// give to it.
  [[nodiscard]] std::vector<float> part_of_line(Size a, std::span<const float> line) const;
  [[nodiscard]] std::vector<float> part_of_opposite(Size a, std::span<const float> opposite) const;

 private:
  [[nodiscard]] double weight_of_line(Size a, Size i) const;
};

}  // namespace peakmark
