#include "kernels/backprojection/tests/texture_on_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/backprojection/reference.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/seeded.hpp"

namespace peakmark {
namespace {

/// Returns the largest difference from the reference on noise, divided by the tolerance of
/// backprojection/texture's verification. It is infinite if a pixel was not written.
double worst_over_tolerance(const BackprojectionGeometry& geometry, const TextureUnit& unit) {
  std::vector<float> sinogram(static_cast<std::size_t>(geometry.sinogram_shape().elements()));
  fill_seeded(std::span(sinogram), 40, 0);
  const auto expected = backprojection_reference<float>(geometry, sinogram);
  const auto actual = backproject_texture_on_host(geometry, unit, sinogram);
  double largest = std::sqrt(static_cast<double>(geometry.n_a));
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    const double difference = std::abs(static_cast<double>(actual[i]) - expected[i]);
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
  }
  return worst / (rounding_of_pixels(0x1p-24, slice_frame(geometry), geometry.n_a, largest) +
                  texture_rounding_of_pixels(geometry.n_a));
}

/// Both kinds of weights: the guide does not say which one applies.
void expect_right(const BackprojectionGeometry& geometry) {
  for (const bool rounds : {true, false})
    EXPECT_LE(worst_over_tolerance(geometry, {.rounds = rounds}), 1)
        << "n_a " << geometry.n_a << ", w " << geometry.w << (rounds ? ", rounded" : ", truncated");
}

BackprojectionGeometry scan(Size n_a, Size w, std::string_view angles = "half_turn") {
  return {
      .n_a = n_a, .w = w, .axis = static_cast<double>(w - 1) / 2, .angles = angles_of_pattern(angles, n_a)};
}

TEST(TextureOnHost, IsRightWhateverTheSizes) {
  for (const Size w : {8, 16, 24, 32, 40, 64, 72, 128})
    for (const Size n_a : {1, 16, 37, 180}) expect_right(scan(n_a, w));
}

TEST(TextureOnHost, IsRightForAnyScan) {
  for (const std::string& angles : angle_patterns())
    for (const std::string& correction : correction_patterns())
      for (const bool half : {false, true})
        for (const char* axis : {"centre", "13.3%", "100%"})
          expect_right({.n_a = 32,
                        .w = 72,
                        .axis = rotation_axis_of(axis, 72),
                        .angles = angles_of_pattern(angles, 32),
                        .corrections = corrections_of_pattern(correction, 32, 72),
                        .half = half,
                        .clip = half});
}

// The centre, the edge and the corner of a slice where columns in float have 10 bits of fraction.
TEST(TextureOnHost, IsRightInRegionsOfAWideSlice) {
  for (const Size x0 : {0, 8170, 16'351}) {
    BackprojectionGeometry geometry = scan(96, 16'384);
    geometry.region = SliceRegion{8001, x0, 33, 33};
    expect_right(geometry);
  }
}

TEST(TextureOnHost, SamplesOfALineAreExact) {
  BackprojectionGeometry geometry = scan(1, 40);
  std::vector<float> sinogram(40);
  fill_seeded(std::span(sinogram), 3, 0);
  const std::vector<float> slice = backproject_texture_on_host(geometry, {}, sinogram);
  for (std::size_t i = 0; i < slice.size(); ++i) EXPECT_EQ(slice[i], sinogram[i % 40]) << i;
}

// The tolerance is not so wide that a unit of fewer bits, or a kernel that forgets the half texel, passes.
TEST(TextureOnHost, AWorseUnitAndAMissingHalfTexelAreFound) {
  const BackprojectionGeometry geometry = scan(180, 128);
  const double of_eight_bits = worst_over_tolerance(geometry, {});
  EXPECT_GT(of_eight_bits, 0.05);
  EXPECT_GT(worst_over_tolerance(geometry, {.fraction_bits = 4}), 8 * of_eight_bits);
  EXPECT_GT(worst_over_tolerance(geometry, {.fraction_bits = 3}), 1);
  EXPECT_GT(worst_over_tolerance(geometry, {.texel_centre = 0}), 1);
}

}  // namespace
}  // namespace peakmark
