#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/shape.hpp"
#include "base/size.hpp"

namespace peakmark {

/// Part of a slice: rows [y0, y0 + h), columns [x0, x0 + w).
struct SliceRegion {
  Size y0 = 0, x0 = 0, h = 1, w = 1;
  friend bool operator==(const SliceRegion&, const SliceRegion&) = default;
};

/// The geometry of a scan with parallel beam: sinograms (n_a, w), one line for each angle.
///
/// Pixel (y, x) of the slice is at (x − s, y − s) from the rotation axis, s = slice_frame().axis, in detector
/// columns. At angle θ_a it is projected to column
///     t = axis + corrections[a] + (x − s)·cos θ_a − (y − s)·sin θ_a,
/// the convention of nabu and silx. Its value is the sum over the angles of the lines at t, interpolated
/// linearly; a line is 0 outside its columns 0 … w − 1. The scale is in the filter.
struct BackprojectionGeometry {
  Size n_a = 1;
  Size w = 2;
  double axis = 0.5;                     ///< column of the rotation axis, from −0.5 to w − 0.5
  std::vector<double> angles = {};       ///< n_a angles in radians, in any order
  std::vector<double> corrections = {};  ///< offset of the axis in columns at each angle; empty: none
  /// Half-acquisition: 360°, the axis near one edge of the detector. The slice is wider (slice_frame), and
  /// columns near the axis, which are measured twice, are weighted (overlap_weight).
  bool half = false;
  /// False if the sinograms are already weighted, as a filter needs them (OverlapWeighting). Only for `half`.
  bool weigh = true;
  bool clip = false;                       ///< 0 outside the circle inscribed in the whole slice
  std::optional<SliceRegion> region = {};  ///< region of the whole slice to compute; none: all of it

  [[nodiscard]] Shape sinogram_shape() const { return {n_a, w}; }
  [[nodiscard]] bool weighted() const { return half && weigh; }
};

/// The slice of a geometry: `side` × `side` pixels, with the axis at row and column `axis`. Only `region` is
/// computed.
struct SliceFrame {
  Size side = 2;
  double axis = 0.5;
  SliceRegion region;
  [[nodiscard]] Shape slice_shape() const { return {region.h, region.w}; }
};

/// Without half-acquisition, side = w, and the axis is that of the detector. With it, like nabu and algotom:
/// side = 2·w − floor(2·near), where near is the distance from the axis to the nearer edge column. The
/// columns are added on the side of that edge.
SliceFrame slice_frame(const BackprojectionGeometry& geometry);

/// Throws UsageError with what is wrong and what is needed: n_a below 1 or beyond 2^24, w below 2, an axis
/// outside the sinogram, a region that is empty or not inside the slice, a slice of more than 2^24 pixels per
/// side (positions are in fixed point). Does not check angles and corrections.
void check_frame(const BackprojectionGeometry& geometry);

/// Checks like check_frame. Also throws UsageError if the numbers of angles, corrections and lines differ, if
/// one is not finite, or if a correction is more than w columns (2·w if `weigh` is false).
void check(const BackprojectionGeometry& geometry);

/// Projection of the pixels of the whole slice to one line of the sinogram: t = start + x·cosine − y·sine.
struct LineView {
  double cosine = 1, sine = 0;
  double start = 0;
  double axis = 0;  ///< corrected column of the axis at this angle
};
std::vector<LineView> line_views(const BackprojectionGeometry& geometry);

/// Weights of half-acquisition: weight(u) = 0.5 − slope·u, clamped to [0, 1]; u = column − axis of the line.
/// weight(u) + weight(−u) = 1, so that each column of two opposite lines is counted once. The ramp ends at
/// the nearer edge column. Slope 0 means no weights.
double overlap_slope(const BackprojectionGeometry& geometry);
double overlap_weight(double slope, double u);

/// Returns false if `clip` sets the pixel to 0, because its centre is outside the circle inscribed in the
/// whole slice. Exact.
inline bool inside_circle(Size side, Size y, Size x) {
  const Size dy = 2 * y - side + 1;
  const Size dx = 2 * x - side + 1;
  return dy * dy + dx * dx <= side * side;
}

/// Returns the number of pixels of the region that are computed: all, or those inside the circle.
Size computed_pixels(const BackprojectionGeometry& geometry);

/// The table of angles of `tiled`: for each angle, cosine, sine, start and axis of its LineView in fixed
/// point with 36 bits of fraction. Positions in a slice of 2^24 pixels per side fit 64 bits, and their error
/// is below 2^-36 columns per pixel.
inline constexpr int kFractionBits = 36;
inline constexpr Size kTableColumns = 4;
std::vector<std::int64_t> angle_table(const BackprojectionGeometry& geometry);
/// The table's shape: (n_a, 4).
inline Shape angle_table_shape(Size n_a) {
  return {n_a, kTableColumns};
}

}  // namespace peakmark
