#include "kernels/backprojection/geometry.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;

BackprojectionGeometry plain(Size n_a = 4, Size w = 9) {
  BackprojectionGeometry geometry{.n_a = n_a, .w = w, .axis = static_cast<double>(w - 1) / 2};
  for (Size a = 0; a < n_a; ++a)
    geometry.angles.push_back(std::numbers::pi * static_cast<double>(a) / static_cast<double>(n_a));
  return geometry;
}

std::string complaint(const BackprojectionGeometry& geometry) {
  try {
    check(geometry);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(BackprojectionGeometry, ThePlainCaseIsASquareOfTheDetectorsWidth) {
  const BackprojectionGeometry geometry = plain(4, 9);
  EXPECT_EQ(complaint(geometry), "none");
  const SliceFrame frame = slice_frame(geometry);
  EXPECT_EQ(frame.side, 9);
  EXPECT_EQ(frame.axis, 4);
  EXPECT_EQ(frame.region, (SliceRegion{0, 0, 9, 9}));
}

TEST(BackprojectionGeometry, AnAngleIsNeededForEachLine) {
  BackprojectionGeometry geometry = plain(4);
  geometry.angles.pop_back();
  EXPECT_THAT(complaint(geometry), HasSubstr("3 angles for a sinogram of 4 lines"));
  geometry = plain(4);
  geometry.angles[2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(complaint(geometry), HasSubstr("angle 2 is nan"));
  geometry.angles[2] = std::numeric_limits<double>::infinity();
  EXPECT_THAT(complaint(geometry), HasSubstr("angle 2 is inf"));
  geometry = plain(4);
  geometry.n_a = 0;
  EXPECT_THAT(complaint(geometry), HasSubstr("0 lines"));
}

TEST(BackprojectionGeometry, OneColumnIsTooFew) {
  BackprojectionGeometry geometry = plain(4, 2);
  EXPECT_EQ(complaint(geometry), "none");
  geometry.w = 1;
  geometry.axis = 0;
  EXPECT_THAT(complaint(geometry), HasSubstr("1 columns wide"));
}

TEST(BackprojectionGeometry, TheAxisLiesInTheSinogram) {
  BackprojectionGeometry geometry = plain(4, 9);
  for (const double inside : {-0.5, 0.0, 1.0 / 3, 8.5}) {
    geometry.axis = inside;
    EXPECT_EQ(complaint(geometry), "none");
  }
  for (const double outside : {-0.51, 8.51, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    geometry.axis = outside;
    EXPECT_THAT(complaint(geometry), HasSubstr("outside the sinogram"));
  }
}

TEST(BackprojectionGeometry, CorrectionsAreOneALineAndOfColumns) {
  BackprojectionGeometry geometry = plain(4);
  geometry.corrections = {0, 1, 2};
  EXPECT_THAT(complaint(geometry), HasSubstr("3 corrections of the axis for a sinogram of 4 lines"));
  geometry.corrections = {0, 1, 2, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THAT(complaint(geometry), HasSubstr("correction of the axis 3 is nan"));
  geometry.corrections = {0, 1, -9.5, 0};
  EXPECT_THAT(complaint(geometry), HasSubstr("correction of the axis 2 is -9.5 columns"));
}

TEST(BackprojectionGeometry, ARegionLiesInTheSlice) {
  BackprojectionGeometry geometry = plain(4, 9);
  geometry.region = SliceRegion{8, 0, 1, 9};
  EXPECT_EQ(complaint(geometry), "none");
  const Size most = std::numeric_limits<Size>::max();
  for (const SliceRegion outside :
       {SliceRegion{8, 0, 2, 9}, SliceRegion{0, 1, 9, 9}, SliceRegion{-1, 0, 2, 2}, SliceRegion{0, 0, 0, 9},
        SliceRegion{0, 0, 9, 0}, SliceRegion{most, 0, 1, 1}, SliceRegion{1, 1, most, most}}) {
    geometry.region = outside;
    EXPECT_THAT(complaint(geometry), AllOf(HasSubstr("region"), HasSubstr("slice of 9 x 9")));
  }
}

TEST(BackprojectionGeometry, SizesThatDoNotFitAreErrors) {
  BackprojectionGeometry geometry = plain(4, 9);
  geometry.n_a = std::numeric_limits<Size>::max() / 2;
  EXPECT_THROW(check(geometry), UsageError);
  geometry = plain(4, 9);
  geometry.w = (Size{1} << 24) + 1;
  EXPECT_THAT(complaint(geometry), HasSubstr("columns wide"));
}

TEST(BackprojectionGeometry, HalfAcquisitionWidensTheSlice) {
  BackprojectionGeometry geometry = plain(4, 128);
  geometry.half = true;
  struct Expected {
    double axis;
    Size side;
    double axis_in_slice;
  };
  // Widths that nabu's get_extended_sinogram_width returns.
  for (const Expected& e : {Expected{100, 202, 100}, Expected{100.25, 203, 100.25}, Expected{127, 256, 127},
                            Expected{127.5, 256, 127.5}, Expected{27, 202, 101}, Expected{26.75, 203, 101.75},
                            Expected{63.5, 129, 63.5}, Expected{0, 256, 128}}) {
    geometry.axis = e.axis;
    EXPECT_EQ(complaint(geometry), "none");
    EXPECT_EQ(slice_frame(geometry).side, e.side) << e.axis;
    EXPECT_EQ(slice_frame(geometry).axis, e.axis_in_slice) << e.axis;
  }
}

TEST(BackprojectionGeometry, WeightsOfOppositeColumnsSumToOne) {
  BackprojectionGeometry geometry = plain(4, 128);
  EXPECT_EQ(overlap_slope(geometry), 0);
  EXPECT_EQ(overlap_weight(0, 17), 1);
  geometry.half = true;
  for (const double axis : {100.0, 100.25, 26.5, 0.0, 127.5}) {
    geometry.axis = axis;
    const double slope = overlap_slope(geometry);
    for (const double u : {0.0, 0.5, 1.0, 26.75, 99.0})
      EXPECT_NEAR(overlap_weight(slope, u) + overlap_weight(slope, -u), 1, 1e-15) << axis << " " << u;
  }
  geometry.axis = 100;
  EXPECT_EQ(overlap_weight(overlap_slope(geometry), 27), 0);  // the nearer edge
  EXPECT_EQ(overlap_weight(overlap_slope(geometry), -27), 1);
  geometry.weigh = false;
  EXPECT_EQ(overlap_slope(geometry), 0);
}

TEST(BackprojectionGeometry, LinesAreSeenWhereTheFormulaSays) {
  BackprojectionGeometry geometry = plain(3, 9);
  geometry.axis = 3.25;
  geometry.corrections = {0.5, -1, 0};
  const std::vector<LineView> views = line_views(geometry);
  for (std::size_t a = 0; a < 3; ++a)
    for (const double y : {0.0, 3.25, 8.0})
      for (const double x : {0.0, 3.25, 8.0}) {
        const double angle = geometry.angles[a];
        EXPECT_NEAR(
            views[a].start + x * views[a].cosine - y * views[a].sine,
            3.25 + geometry.corrections[a] + (x - 3.25) * std::cos(angle) - (y - 3.25) * std::sin(angle),
            1e-14);
      }
}

TEST(BackprojectionGeometry, PixelsInTheCircleAreCounted) {
  for (const Size w : {2, 3, 8, 17, 31}) {
    BackprojectionGeometry geometry = plain(1, w);
    EXPECT_EQ(computed_pixels(geometry), w * w);
    geometry.clip = true;
    for (const SliceRegion region : {SliceRegion{0, 0, w, w}, SliceRegion{w / 2, 1, w - w / 2, w - 1}}) {
      geometry.region = region;
      Size pixels = 0;
      for (Size y = region.y0; y < region.y0 + region.h; ++y)
        for (Size x = region.x0; x < region.x0 + region.w; ++x) pixels += inside_circle(w, y, x) ? 1 : 0;
      EXPECT_EQ(computed_pixels(geometry), pixels) << w;
    }
  }
}

double real(std::int64_t fixed) {
  return std::ldexp(static_cast<double>(fixed), -kFractionBits);
}

TEST(AngleTable, HoldsTheViewsInFixedPoint) {
  const BackprojectionGeometry geometry{
      .n_a = 3, .w = 9, .axis = 3.25, .angles = {0, 1.1, -7}, .corrections = {0.5, -1.25, 0}};
  const std::vector<std::int64_t> table = angle_table(geometry);
  const std::vector<LineView> views = line_views(geometry);
  ASSERT_EQ(static_cast<Size>(table.size()), angle_table_shape(3).elements());
  for (std::size_t a = 0; a < 3; ++a) {
    EXPECT_NEAR(real(table[4 * a]), views[a].cosine, 0x1p-37);
    EXPECT_NEAR(real(table[4 * a + 1]), views[a].sine, 0x1p-37);
    EXPECT_NEAR(real(table[4 * a + 2]), views[a].start, 0x1p-37);
    EXPECT_EQ(real(table[4 * a + 3]), 3.25 + geometry.corrections[a]);
  }
}

// With the widest slice and the largest corrections that check() accepts, no sum of a kernel exceeds 64 bits.
// Parts of joined lines, which are weighted, may be off by twice their width.
TEST(AngleTable, TheLargestPositionFits) {
  const double turn = 6.283185307179586;
  for (const bool parts : {false, true})
    for (const double sign : {1.0, -1.0}) {
      const Size w = Size{1} << (parts ? 23 : 24);
      BackprojectionGeometry geometry{
          .n_a = 8, .w = w, .axis = sign > 0 ? static_cast<double>(w) - 0.5 : -0.5, .half = parts};
      geometry.weigh = !parts;
      for (int a = 0; a < 8; ++a) {
        geometry.angles.push_back(turn * (a + 0.5) / 8);
        geometry.corrections.push_back(sign * static_cast<double>(parts ? 2 * w : w));
      }
      check(geometry);
      const Size last = slice_frame(geometry).side - 1;
      EXPECT_EQ(last, (Size{1} << 24) - 1);
      const std::vector<std::int64_t> table = angle_table(geometry);
      for (std::size_t a = 0; a < 8; ++a)
        for (const Size y : {Size{0}, last})
          for (const Size x : {Size{0}, last}) {
            const Size position =
                checked_subtract(checked_add(table[4 * a + 2], checked_multiply(x, table[4 * a])),
                                 checked_multiply(y, table[4 * a + 1]));
            const LineView view = line_views(geometry)[a];
            EXPECT_NEAR(
                real(position),
                view.start + static_cast<double>(x) * view.cosine - static_cast<double>(y) * view.sine, 1e-3);
          }
      geometry.corrections[3] *= 1.0001;
      EXPECT_THROW(check(geometry), UsageError);
    }
}

}  // namespace

}  // namespace peakmark
