#include "kernels/backprojection/angle_table.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "base/error.hpp"

namespace peakmark {
namespace {

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

// The widest slice and the largest corrections that check() lets through: no sum of a kernel leaves 64 bits.
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
