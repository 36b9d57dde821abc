#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/backprojection/geometry.hpp"
#include "peakmark/worker/case.hpp"

namespace peakmark {

// The axes of a case that describe a scan. fbp uses them too.

/// Returns the angles of a pattern: `half_turn` and `full_turn` (π and 2π in n_a equal steps), `shuffled`
/// (half_turn in random order), `random` (random angles from −2π to 2π). Throws UsageError for another name.
const std::vector<std::string>& angle_patterns();
std::vector<double> angles_of_pattern(std::string_view pattern, Size n_a);

/// Returns the corrections of a pattern: `none`, `random4` (random, from −4 to 4 columns, but no more than
/// w), `drift` (from −2 to 2 along the scan).
const std::vector<std::string>& correction_patterns();
std::vector<double> corrections_of_pattern(std::string_view pattern, Size n_a, Size w);

/// Returns the column of the axis for `centre` ((w − 1) / 2), a column such as `511.25`, or a share of the
/// distance from the first column to the last, such as `85%`. Throws UsageError for other text.
double rotation_axis_of(std::string_view text, Size w);

/// `angles`, `rotation_axis`, `correction`, `half`, `roi_y0`, `roi_x0`, `roi_h`, `roi_w`, `clip`: the plain
/// case is their defaults. roi_h and roi_w of 0 reach to the end of the slice.
std::vector<Axis> scan_axes();

/// Returns the checked geometry of a case with the axes n_a, w and scan_axes().
BackprojectionGeometry geometry_of_case(const Case& asked);
/// Returns the same without angles and corrections, for estimators: there may be too many of them to create.
/// They are not checked.
BackprojectionGeometry frame_geometry_of_case(const Case& asked);

}  // namespace peakmark
