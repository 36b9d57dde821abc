#include "kernels/fbp/phantom.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

namespace peakmark {
namespace {

using std::numbers::pi;

TEST(Phantom, ADiskIsSeenAsItsChords) {
  const Phantom disk{{2, 5, 5, 3, -4, 0}};
  for (const double angle : {0.0, 0.7, pi / 2, 4.1}) {
    const double middle = 3 * std::cos(angle) + 4 * std::sin(angle);
    for (const double u : {-4.9, -3.0, 0.0, 4.0})
      EXPECT_NEAR(projection_of(disk, angle, middle + u), 4 * std::sqrt(25 - u * u), 1e-12);
    EXPECT_EQ(projection_of(disk, angle, middle + 5.1), 0);
  }
  EXPECT_EQ(density_at(disk, 7.9, -4), 2);
  EXPECT_EQ(density_at(disk, 8.1, -4), 0);
}

/// Returns the integral along a line, summed in steps.
double summed_along(const Phantom& phantom, double angle, double u) {
  constexpr double kStep = 0.001;
  double sum = 0;
  for (double v = -100; v < 100; v += kStep)
    sum += density_at(phantom, u * std::cos(angle) + v * std::sin(angle),
                      -u * std::sin(angle) + v * std::cos(angle));
  return sum * kStep;
}

TEST(Phantom, ProjectionsAreSumsOfTheDensity) {
  const Phantom head = shepp_logan(60);
  for (const double angle : {0.0, 0.4, 1.9})
    for (const double u : {-31.0, 0.5, 14.0})
      EXPECT_NEAR(projection_of(head, angle, u), summed_along(head, angle, u), 0.01) << angle << " " << u;
}

// The head is upright: its skull is higher than wide, and the three small ones are low, at rows of larger y.
TEST(Phantom, TheHeadIsSheppAndLogans) {
  const Phantom head = shepp_logan(100);
  ASSERT_EQ(head.size(), 10U);
  EXPECT_NEAR(density_at(head, 0, -91), 1, 1e-12);
  EXPECT_EQ(density_at(head, 91, 0), 0);
  EXPECT_NEAR(density_at(head, 0, 80), 0.2, 1e-12);
  EXPECT_NEAR(density_at(head, 0, 60.6), 0.3, 1e-12);
  EXPECT_NEAR(density_at(head, 0, -60.6), 0.2, 1e-12);
  EXPECT_NEAR(density_at(head, 22, 0), 0, 1e-12);
  // The right ventricle leans outwards at the top.
  EXPECT_NEAR(density_at(head, 22 + 25 * std::sin(18 * pi / 180), -25), 0, 1e-12);
  EXPECT_NEAR(density_at(head, 22 - 25 * std::sin(18 * pi / 180), -25), 0.3, 1e-12);
}

TEST(Phantom, SinogramAndSliceAreOfTheGeometry) {
  const Phantom disk{{1, 4, 4, 0, 0, 0}};
  BackprojectionGeometry geometry{.n_a = 2, .w = 21, .axis = 8, .angles = {0, 1}, .corrections = {0, 2}};
  geometry.region = SliceRegion{8, 3, 1, 7};
  const std::vector<float> sinogram = phantom_sinogram(disk, geometry);
  ASSERT_EQ(sinogram.size(), 42U);
  EXPECT_FLOAT_EQ(sinogram[8], 8);
  EXPECT_FLOAT_EQ(sinogram[21 + 10], 8);
  EXPECT_THAT(phantom_slice(disk, geometry), testing::ElementsAre(0, 1, 1, 1, 1, 1, 1));
}

}  // namespace
}  // namespace peakmark
