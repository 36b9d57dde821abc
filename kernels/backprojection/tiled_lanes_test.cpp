// Tests the methods by which tiles on CPUs read columns: from memory (0 lanes), and from registers of 8 and
// 16 lanes. The compiler of a device chooses one of them; here each is compiled and compared with the
// reference. If the processor lacks the instructions, a plain loop replaces them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "backprojection_tiled_source.hpp"
#include "kernels/backprojection/geometry.hpp"
#include "kernels/backprojection/reference.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/seeded.hpp"
#include "kernels/common/variant_testing.hpp"

namespace peakmark {
namespace {

/// As the kernel has them.
constexpr Size kTileH = 32;
constexpr Size kTileW = 64;

class TiledLanesTest : public testing::Test {
 protected:
  std::vector<float> backproject(int lanes, const BackprojectionGeometry& geometry, Size n_z,
                                 std::span<const float> sinogram) {
    const std::string text = "#define BACKPROJECTION_LANES " + std::to_string(lanes) + "\n" +
                             std::string(backprojection_tiled_source().text);
    const Kernel kernel =
        find_kernel(*device_, {.name = "backprojection_tiled", .text = text, .cuda_images = {}},
                    "backproject_tiles", DType::f32);
    const SliceFrame frame = slice_frame(geometry);
    const SliceRegion& region = frame.region;
    const std::vector<std::int64_t> angles = angle_table(geometry);
    const DeviceArray table = create_with<std::int64_t>(*device_, "angle_table",
                                                        angle_table_shape(geometry.n_a), std::span(angles));
    const DeviceArray sinograms =
        create_with<float>(*device_, "sinograms", {n_z, geometry.n_a, geometry.w}, sinogram);
    DeviceArray slices = create_uninitialised(*device_, "slices", {n_z, region.h, region.w}, DType::f32);
    const Size tiles = n_z * ((region.h + kTileH - 1) / kTileH) * ((region.w + kTileW - 1) / kTileW);
    device_->launch(kernel, {.x = tiles, .local_x = 1},
                    {slices, Size{0}, sinograms, Size{0}, table, n_z, geometry.n_a, geometry.w, region.y0,
                     region.x0, region.h, region.w, frame.side, std::int32_t{geometry.clip ? 1 : 0},
                     static_cast<float>(overlap_slope(geometry))});
    return slices.read<float>();
  }

  /// Returns the largest difference from the reference divided by the largest pixel, for each of two
  /// sinograms of noise.
  void expect_right(const BackprojectionGeometry& geometry) {
    const Size elements = geometry.sinogram_shape().elements();
    std::vector<float> sinograms(static_cast<std::size_t>(2 * elements));
    fill_seeded(std::span(sinograms), 11, 0);
    std::vector<double> expected;
    for (const Size z : {0, 1}) {
      const auto one = std::span(sinograms).subspan(static_cast<std::size_t>(z * elements),
                                                    static_cast<std::size_t>(elements));
      const auto slice = backprojection_reference<float>(geometry, one);
      expected.insert(expected.end(), slice.begin(), slice.end());
    }
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    std::vector<std::vector<float>> slices;
    for (const int lanes : {0, 8, 16}) {
      const std::vector<float>& slice = slices.emplace_back(backproject(lanes, geometry, 2, sinograms));
      ASSERT_EQ(slice.size(), expected.size());
      double difference = 0;
      for (std::size_t i = 0; i < slice.size(); ++i)
        difference = std::max(difference, std::abs(static_cast<double>(slice[i]) - expected[i]));
      EXPECT_LE(difference, 0x1p-18 * largest) << lanes << " lanes, w " << geometry.w;
    }
    // The two round differently: equal results would mean that one was not chosen.
    EXPECT_NE(slices[0], slices[1]);
    EXPECT_NE(slices[1], slices[2]);
  }

  testing_variants::TestDevice device_ = testing_variants::open_tested(testing_variants::Grain::cpu);
};

TEST_F(TiledLanesTest, ASlice) {
  expect_right({.n_a = 37, .w = 96, .axis = 47.5, .angles = angles_of_pattern("half_turn", 37)});
}

// The line has all columns of only some squares, or of none.
TEST_F(TiledLanesTest, NarrowLines) {
  for (const Size w : {2, 5, 16, 17, 33, 34, 41})
    expect_right(
        {.n_a = 9, .w = w, .axis = 0.4 * static_cast<double>(w), .angles = angles_of_pattern("random", 9)});
}

TEST_F(TiledLanesTest, ARegionAndACircle) {
  expect_right({.n_a = 20,
                .w = 77,
                .axis = 40.25,
                .angles = angles_of_pattern("full_turn", 20),
                .corrections = corrections_of_pattern("random4", 20, 77),
                .clip = true,
                .region = SliceRegion{3, 5, 41, 70}});
}

TEST_F(TiledLanesTest, HalfAcquisition) {
  for (const double axis : {70.5, 12.0})
    expect_right({.n_a = 20,
                  .w = 83,
                  .axis = axis,
                  .angles = angles_of_pattern("full_turn", 20),
                  .corrections = corrections_of_pattern("drift", 20, 83),
                  .half = true});
}

}  // namespace
}  // namespace peakmark
