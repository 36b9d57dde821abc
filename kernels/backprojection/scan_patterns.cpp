#include "kernels/backprojection/scan_patterns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numbers>

#include "base/error.hpp"
#include "base/text.hpp"
#include "kernels/common/seeded.hpp"

namespace peakmark {
namespace {

constexpr std::uint32_t kSeedAngles = 41;
constexpr std::uint32_t kSeedCorrections = 42;

[[noreturn]] void no_pattern(const char* what, std::string_view name, const std::vector<std::string>& known) {
  throw UsageError(fmt::format("backprojection: unknown pattern of {} '{}'; write one of {}", what, name,
                               fmt::join(known, ", ")));
}

}  // namespace

const std::vector<std::string>& angle_patterns() {
  static const std::vector<std::string> names{"half_turn", "full_turn", "shuffled", "random"};
  return names;
}

std::vector<double> angles_of_pattern(std::string_view pattern, Size n_a) {
  std::vector<double> angles(static_cast<std::size_t>(n_a));
  const auto equal_steps = [&](double turn) {
    for (std::size_t a = 0; a < angles.size(); ++a)
      angles[a] = turn * static_cast<double>(a) / static_cast<double>(n_a);
  };
  if (pattern == "half_turn") {
    equal_steps(std::numbers::pi);
  } else if (pattern == "full_turn") {
    equal_steps(2 * std::numbers::pi);
  } else if (pattern == "shuffled") {
    equal_steps(std::numbers::pi);
    for (std::size_t a = angles.size(); a > 1; --a)
      std::swap(angles[a - 1], angles[seeded_bits(kSeedAngles, static_cast<Size>(a)) % a]);
  } else if (pattern == "random") {
    for (std::size_t a = 0; a < angles.size(); ++a)
      angles[a] = 2 * std::numbers::pi * seeded_value<double>(kSeedAngles, static_cast<Size>(a));
  } else {
    no_pattern("angles", pattern, angle_patterns());
  }
  return angles;
}

const std::vector<std::string>& correction_patterns() {
  static const std::vector<std::string> names{"none", "random4", "drift"};
  return names;
}

std::vector<double> corrections_of_pattern(std::string_view pattern, Size n_a, Size w) {
  if (pattern == "none") return {};
  std::vector<double> corrections(static_cast<std::size_t>(n_a));
  if (pattern == "random4") {
    const double most = std::min(4.0, static_cast<double>(w));
    for (std::size_t a = 0; a < corrections.size(); ++a)
      corrections[a] = most * seeded_value<double>(kSeedCorrections, static_cast<Size>(a));
  } else if (pattern == "drift") {
    for (std::size_t a = 0; a < corrections.size(); ++a)
      corrections[a] = -2 + 4 * static_cast<double>(a) / static_cast<double>(n_a);
  } else {
    no_pattern("corrections", pattern, correction_patterns());
  }
  return corrections;
}

double rotation_axis_of(std::string_view text, Size w) {
  const double last = static_cast<double>(w - 1);
  if (text == "centre") return last / 2;
  const bool percent = text.ends_with('%');
  const std::string_view number = percent ? text.substr(0, text.size() - 1) : text;
  const auto value = parse_number<double>(number);
  if (!value)
    throw UsageError(fmt::format(
        "backprojection: rotation_axis '{}'; give centre, a column such as 511.25, or a part such as 85%",
        text));
  return percent ? last * *value / 100 : *value;
}

std::vector<Axis> scan_axes() {
  return {
      {"angles", "half_turn", angle_patterns(), "pattern of the angles, in radians"},
      {"rotation_axis", "centre", {}, "column of the rotation axis: centre, 511.25, 85%"},
      {"correction", "none", correction_patterns(),
       "pattern of the axis's corrections, one per angle, in columns"},
      {"half", 0, "1: half-acquisition, a wider slice and weights for pixels that are measured twice"},
      {"roi_y0", 0, "first row of the region that is computed"},
      {"roi_x0", 0, "first column of it"},
      {"roi_h", 0, "rows of it; 0: to the end of the slice"},
      {"roi_w", 0, "columns of it; 0: to the end of the slice"},
      {"clip", 0, "1: 0 outside the circle inscribed in the slice"},
  };
}

namespace {

bool is_on(const Case& asked, std::string_view axis) {
  const Size value = asked[axis];
  if (value > 1) throw UsageError(fmt::format("backprojection: {} is {}; give 0 or 1", axis, value));
  return value == 1;
}

}  // namespace

BackprojectionGeometry frame_geometry_of_case(const Case& asked) {
  BackprojectionGeometry geometry;
  geometry.n_a = asked["n_a"];
  geometry.w = asked["w"];
  geometry.axis = rotation_axis_of(asked.word("rotation_axis"), geometry.w);
  geometry.half = is_on(asked, "half");
  geometry.clip = is_on(asked, "clip");
  // slice_frame needs a valid size and axis, so the region is checked after them.
  check_frame(geometry);
  const Size side = slice_frame(geometry).side;
  for (const char* const first : {"roi_y0", "roi_x0"})
    if (const Size value = asked[first]; value >= side)
      throw UsageError(
          fmt::format("backprojection: {} is {}; the slice has {} rows and columns: give 0 to {}", first,
                      value, side, side - 1));
  SliceRegion region{asked["roi_y0"], asked["roi_x0"], asked["roi_h"], asked["roi_w"]};
  if (region.h == 0) region.h = checked_subtract(side, region.y0);
  if (region.w == 0) region.w = checked_subtract(side, region.x0);
  geometry.region = region;
  check_frame(geometry);
  return geometry;
}

BackprojectionGeometry geometry_of_case(const Case& asked) {
  BackprojectionGeometry geometry = frame_geometry_of_case(asked);
  geometry.angles = angles_of_pattern(asked.word("angles"), geometry.n_a);
  geometry.corrections = corrections_of_pattern(asked.word("correction"), geometry.n_a, geometry.w);
  check(geometry);
  return geometry;
}

}  // namespace peakmark
