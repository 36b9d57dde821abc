#include "kernels/backprojection/scan_patterns.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "kernels/common/case_testing.hpp"

namespace peakmark {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

Case case_of(std::vector<std::pair<std::string, AxisValue>> values) {
  Parameters parameters;
  parameters.set("n_a", Size{6});
  parameters.set("w", Size{9});
  for (const Axis& axis : scan_axes()) parameters.set(axis.name, axis.default_value);
  for (auto& [name, value] : values) parameters.set(name, value);
  return make_case(parameters);
}

std::string scan_complaint(std::vector<std::pair<std::string, AxisValue>> values) {
  try {
    geometry_of_case(case_of(std::move(values)));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(ScanPatterns, AnglesAreRadians) {
  const double pi = std::numbers::pi;
  EXPECT_THAT(angles_of_pattern("half_turn", 4), ElementsAre(0, pi / 4, pi / 2, 3 * pi / 4));
  EXPECT_THAT(angles_of_pattern("full_turn", 4), ElementsAre(0, pi / 2, pi, 3 * pi / 2));
  std::vector<double> shuffled = angles_of_pattern("shuffled", 101);
  EXPECT_FALSE(std::ranges::is_sorted(shuffled));
  std::ranges::sort(shuffled);
  EXPECT_EQ(shuffled, angles_of_pattern("half_turn", 101));
  for (const double angle : angles_of_pattern("random", 101)) EXPECT_LE(std::abs(angle), 2 * pi);
  EXPECT_THROW(angles_of_pattern("golden", 4), UsageError);
}

TEST(ScanPatterns, CorrectionsAreColumns) {
  EXPECT_TRUE(corrections_of_pattern("none", 5, 9).empty());
  EXPECT_THAT(corrections_of_pattern("drift", 4, 9), ElementsAre(-2, -1, 0, 1));
  for (const double correction : corrections_of_pattern("random4", 101, 3))
    EXPECT_LE(std::abs(correction), 3);
  EXPECT_THROW(corrections_of_pattern("wobble", 4, 9), UsageError);
}

TEST(ScanPatterns, TheAxisIsAWordAColumnOrAPart) {
  EXPECT_EQ(rotation_axis_of("centre", 8), 3.5);
  EXPECT_EQ(rotation_axis_of("2.25", 8), 2.25);
  EXPECT_EQ(rotation_axis_of("-0.5", 8), -0.5);
  EXPECT_EQ(rotation_axis_of("50%", 9), 4);
  EXPECT_EQ(rotation_axis_of("100%", 9), 8);
  for (const char* text : {"", "%", "middle", "3px", "3%%"})
    EXPECT_THROW(rotation_axis_of(text, 8), UsageError);
}

TEST(ScanPatterns, TheDefaultsAreThePlainCase) {
  const BackprojectionGeometry geometry = geometry_of_case(case_of({}));
  EXPECT_EQ(geometry.axis, 4);
  EXPECT_TRUE(geometry.corrections.empty());
  EXPECT_FALSE(geometry.half || geometry.clip);
  EXPECT_EQ(slice_frame(geometry).region, (SliceRegion{0, 0, 9, 9}));
  EXPECT_EQ(geometry.angles, angles_of_pattern("half_turn", 6));
}

TEST(ScanPatterns, ARegionOfZeroReachesToTheEnd) {
  const auto geometry = geometry_of_case(case_of(
      {{"roi_y0", Size{2}}, {"roi_w", Size{3}}, {"half", Size{1}}, {"rotation_axis", std::string("7")}}));
  EXPECT_EQ(slice_frame(geometry).side, 16);
  EXPECT_EQ(slice_frame(geometry).region, (SliceRegion{2, 0, 14, 3}));
}

TEST(ScanPatterns, ErrorsAreReported) {
  EXPECT_EQ(scan_complaint({}), "none");
  EXPECT_THAT(scan_complaint({{"w", Size{1}}}), HasSubstr("1 columns wide"));
  EXPECT_THAT(scan_complaint({{"rotation_axis", std::string("8.75")}}), HasSubstr("outside the sinogram"));
  EXPECT_THAT(scan_complaint({{"rotation_axis", std::string("nan")}}), HasSubstr("outside the sinogram"));
  EXPECT_THAT(scan_complaint({{"roi_y0", Size{9}}}),
              HasSubstr("roi_y0 is 9; the slice has 9 rows and columns: give 0 to 8"));
  EXPECT_THAT(scan_complaint({{"roi_y0", Size{2}}, {"roi_h", Size{8}}}), HasSubstr("region"));
  EXPECT_THAT(scan_complaint({{"roi_x0", Size{3}}, {"roi_w", Size{7}}}), HasSubstr("region"));
  EXPECT_THAT(scan_complaint({{"clip", Size{2}}}), HasSubstr("clip is 2; give 0 or 1"));
  EXPECT_THAT(scan_complaint({{"n_a", Size{1} << 62}}), HasSubstr("lines (n_a); the maximum is 16777216"));
}

}  // namespace
}  // namespace peakmark
