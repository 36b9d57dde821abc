#include "kernels/backprojection/reference.hpp"

#include <gmock/gmock.h>

#include "kernels/backprojection/numpy_vectors.hpp"

namespace peakmark {
namespace {

TEST(BackprojectionReference, EqualsNumpy) {
  for (const NumpyBackprojection& c : numpy_backprojections()) {
    check(c.geometry);
    const std::vector<double> slice = backprojection_reference<double>(c.geometry, c.sinogram);
    ASSERT_EQ(slice.size(), c.slice.size());
    for (std::size_t i = 0; i < slice.size(); ++i)
      EXPECT_NEAR(slice[i], c.slice[i], 1e-12) << "pixel " << i << ", w " << c.geometry.w;
  }
}

TEST(BackprojectionReference, ALineOfOnesUnderEveryAngleGivesTheNumberOfAngles) {
  BackprojectionGeometry geometry{.n_a = 4, .w = 9, .axis = 4, .angles = {0, 0.3, 1.2, 2.9}};
  const std::vector<double> ones(4 * 9, 1.0);
  const auto slice = backprojection_reference<double>(geometry, ones);
  EXPECT_NEAR(slice[4 * 9 + 4], 4, 1e-14);
  EXPECT_NEAR(slice[3 * 9 + 5], 4, 1e-14);
}

// Opposite lines of a full turn see the overlap twice. With weights it is counted once, at any position of
// the axis.
TEST(BackprojectionReference, HalfAcquisitionCountsEachRayOnce) {
  for (const double axis : {0.0, 2.5, 3.25, 12.75, 13.0, 16.0}) {
    BackprojectionGeometry geometry{.n_a = 8, .w = 17, .axis = axis, .half = true};
    for (int a = 0; a < 8; ++a) geometry.angles.push_back(a * 0.78539816339744831);
    const std::vector<double> ones(8 * 17, 1.0);
    const auto slice = backprojection_reference<double>(geometry, ones);
    const SliceFrame frame = slice_frame(geometry);
    const auto at = [&](Size y, Size x) { return slice[static_cast<std::size_t>(y * frame.side + x)]; };
    const auto middle = static_cast<Size>(frame.axis);
    for (const Size d : {-2, 0, 2}) {
      EXPECT_NEAR(at(middle + d, middle), 4, 1e-12) << "axis " << axis;
      EXPECT_NEAR(at(middle, middle + d), 4, 1e-12) << "axis " << axis;
    }
  }
}

}  // namespace
}  // namespace peakmark
