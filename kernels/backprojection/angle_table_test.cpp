#include "kernels/backprojection/angle_table.hpp"

#include <gmock/gmock.h>

#include <cmath>

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
TEST(AngleTable, TheLargestPositionFits) {
  const Size w = Size{1} << 24;
  const double last = static_cast<double>(w) - 0.5;
  const double turn = 6.283185307179586;
  BackprojectionGeometry geometry{.n_a = 8, .w = w, .axis = last};
  for (int a = 0; a < 8; ++a) {
    geometry.angles.push_back(turn * (a + 0.5) / 8);
    geometry.corrections.push_back(static_cast<double>(w));
  }
  check(geometry);
  const std::vector<std::int64_t> table = angle_table(geometry);
  for (std::size_t a = 0; a < 8; ++a)
    for (const Size y : {Size{0}, w - 1})
      for (const Size x : {Size{0}, w - 1}) {
        const Size position =
            checked_subtract(checked_add(table[4 * a + 2], checked_multiply(x, table[4 * a])),
                             checked_multiply(y, table[4 * a + 1]));
        const LineView view = line_views(geometry)[a];
        EXPECT_NEAR(real(position),
                    view.start + static_cast<double>(x) * view.cosine - static_cast<double>(y) * view.sine,
                    1e-3);
      }
}

}  // namespace
}  // namespace peakmark
