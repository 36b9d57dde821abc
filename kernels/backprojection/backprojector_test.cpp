#include "kernels/backprojection/backprojector.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.hpp"
#include "kernels/backprojection/numpy_vectors.hpp"
#include "kernels/backprojection/reference.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/seeded.hpp"
#include "kernels/common/variant_testing.hpp"

namespace peakmark {
namespace {

using testing_variants::Grain;

constexpr BackprojectionMethod kMethods[] = {BackprojectionMethod::linear, BackprojectionMethod::tiled};

class BackprojectorTest : public testing::TestWithParam<Grain> {
 protected:
  std::vector<float> backproject(BackprojectionMethod method, const BackprojectionGeometry& geometry,
                                 std::span<const float> sinogram) {
    const auto backprojector = make_backprojector(method, *device_, geometry, DType::f32);
    const DeviceArray sinograms =
        create_with<float>(*device_, "sinograms", geometry.sinogram_shape(), sinogram);
    DeviceArray slices =
        create_uninitialised(*device_, "slices", backprojector->frame().slice_shape(), DType::f32);
    (*backprojector)(sinograms, slices);
    return slices.read<float>();
  }

  /// The error of each method, on noise.
  std::vector<double> errors_of_noise(Size w);

  testing_variants::TestDevice device_ = testing_variants::open_tested(GetParam());
};

BackprojectionGeometry half_turn(Size n_a, Size w) {
  return {.n_a = n_a,
          .w = w,
          .axis = static_cast<double>(w - 1) / 2,
          .angles = angles_of_pattern("half_turn", n_a)};
}

/// Returns the largest difference within 0.48 w of the centre, divided by the largest pixel.
double relative_error(Size w, const std::vector<float>& actual, const std::vector<double>& expected) {
  double difference = 0;
  double largest = 0;
  const double middle = static_cast<double>(w - 1) / 2;
  for (Size y = 0; y < w; ++y)
    for (Size x = 0; x < w; ++x) {
      const auto i = static_cast<std::size_t>(y * w + x);
      if (std::hypot(static_cast<double>(y) - middle, static_cast<double>(x) - middle) >
          0.48 * static_cast<double>(w))
        continue;
      difference = std::max(difference, std::abs(static_cast<double>(actual[i]) - expected[i]));
      largest = std::max(largest, std::abs(expected[i]));
    }
  return difference / largest;
}

std::vector<double> BackprojectorTest::errors_of_noise(Size w) {
  const BackprojectionGeometry geometry = half_turn(w * 3 / 2, w);
  std::vector<float> sinogram(static_cast<std::size_t>(geometry.sinogram_shape().elements()));
  fill_seeded(std::span(sinogram), 7, 0);
  const auto expected = backprojection_reference<float>(geometry, sinogram);
  std::vector<double> errors;
  for (const BackprojectionMethod method : kMethods) {
    errors.push_back(relative_error(w, backproject(method, geometry, sinogram), expected));
  }
  return errors;
}

TEST_P(BackprojectorTest, EqualsNumpy) {
  for (const BackprojectionMethod method : kMethods)
    for (const NumpyBackprojection& c : numpy_backprojections()) {
      const std::vector<float> sinogram(c.sinogram.begin(), c.sinogram.end());
      const std::vector<float> slice = backproject(method, c.geometry, sinogram);
      ASSERT_EQ(slice.size(), c.slice.size());
      for (std::size_t i = 0; i < slice.size(); ++i)
        EXPECT_NEAR(slice[i], c.slice[i], 1e-5)
            << to_string(method) << ", pixel " << i << ", w " << c.geometry.w;
    }
}

TEST_P(BackprojectorTest, NoiseIsWithinTheBound) {
  for (const Size w : {64, 131, 256}) {
    const std::vector<double> errors = errors_of_noise(w);
    for (std::size_t i = 0; i < errors.size(); ++i) {
      EXPECT_LE(errors[i], static_cast<double>(w) * 0x1p-24) << to_string(kMethods[i]) << ", w " << w;
    }
  }
}

// The table of docs/operations/backprojection.md, up to 512: the reference of 1024 takes minutes without
// optimisation.
TEST_P(BackprojectorTest, DISABLED_AccuracyTable) {
  fmt::print("| w | {} | {} |\n|---|---|---|\n", to_string(kMethods[0]), to_string(kMethods[1]));
  for (const Size w : {64, 128, 256, 512}) {
    fmt::print("| {} | {:.1e} |\n", w, fmt::join(errors_of_noise(w), " | "));
  }
}

// A Gaussian off the axis, whose projections are Gaussians.
TEST_P(BackprojectorTest, ASmoothPhantomIsWithinTheBound) {
  const Size w = 256;
  const BackprojectionGeometry geometry = half_turn(360, w);
  std::vector<float> sinogram;
  for (const double angle : geometry.angles)
    for (Size i = 0; i < w; ++i) {
      const double u = static_cast<double>(i) - geometry.axis - 30 * std::cos(angle) + 17 * std::sin(angle);
      sinogram.push_back(static_cast<float>(std::exp(-u * u / 800)));
    }
  const auto expected = backprojection_reference<float>(geometry, sinogram);
  for (const BackprojectionMethod method : kMethods)
    EXPECT_LE(relative_error(w, backproject(method, geometry, sinogram), expected), 1e-5)
        << to_string(method);
}

// The centre and a corner of a wide slice, where positions in f32 have 10 bits of fraction.
TEST_P(BackprojectorTest, AWideSliceIsWithinTheBound) {
  for (const BackprojectionMethod method : kMethods)
    for (const Size first : {Size{0}, Size{8190}, Size{16380}}) {
      BackprojectionGeometry geometry = half_turn(61, 16384);
      geometry.region = SliceRegion{8190, first, 4, 4};
      std::vector<float> sinogram(static_cast<std::size_t>(geometry.sinogram_shape().elements()));
      fill_seeded(std::span(sinogram), 8, 0);
      const auto expected = backprojection_reference<float>(geometry, sinogram);
      const auto actual = backproject(method, geometry, sinogram);
      // Tables in fixed point have positions to 2^-16 columns at any width; tables in f32 do not.
      const double bound = method == BackprojectionMethod::linear ? 16384 * 0x1p-24 : 0x1p-16;
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(actual[i], expected[i], bound * std::sqrt(61.0))
            << to_string(method) << ", from " << first;
    }
}

TEST_P(BackprojectorTest, WeightedBeforeOrInTheSumIsTheSame) {
  BackprojectionGeometry geometry{
      .n_a = 20, .w = 37, .axis = 30.25, .angles = angles_of_pattern("full_turn", 20), .half = true};
  for (const bool corrected : {false, true}) {
    if (corrected) geometry.corrections = corrections_of_pattern("random4", 20, 37);
    std::vector<float> sinogram(20 * 37);
    fill_seeded(std::span(sinogram), 9, 0);
    BackprojectionGeometry weighted_before = geometry;
    weighted_before.weigh = false;
    DeviceArray sinograms =
        create_with<float>(*device_, "sinograms", {1, 20, 37}, std::span<const float>(sinogram));
    OverlapWeighting(*device_, geometry, DType::f32)(sinograms);
    const std::vector<float> weighted = sinograms.read<float>();
    for (const BackprojectionMethod method : kMethods) {
      const auto one = backproject(method, geometry, sinogram);
      const auto other = backproject(method, weighted_before, weighted);
      EXPECT_THAT(one, testing::Pointwise(testing::FloatNear(1e-5F), other)) << to_string(method);
    }
  }
  geometry.half = false;
  EXPECT_THROW(OverlapWeighting(*device_, geometry, DType::f32), UsageError);
}

TEST_P(BackprojectorTest, APartOfAStackIsBitForBitWhatTheWholeGives) {
  const BackprojectionGeometry geometry = half_turn(31, 43);
  std::vector<float> stack(5 * 31 * 43);
  fill_seeded(std::span(stack), 10, 0);
  const DeviceArray sinograms =
      create_with<float>(*device_, "sinograms", {5, 31, 43}, std::span<const float>(stack));
  for (const BackprojectionMethod method : kMethods) {
    const auto backprojector = make_backprojector(method, *device_, geometry, DType::f32);
    DeviceArray whole = create_uninitialised(*device_, "slices", {5, 43, 43}, DType::f32);
    (*backprojector)(sinograms, whole);
    DeviceArray parts = create_uninitialised(*device_, "slices", {5, 43, 43}, DType::f32);
    for (const auto& [from, count] : {std::pair<Size, Size>{3, 2}, {0, 1}, {1, 2}})
      (*backprojector)(sinograms, from, parts, from, count);
    EXPECT_EQ(whole.read<float>(), parts.read<float>()) << to_string(method);
  }
}

TEST_P(BackprojectorTest, OtherShapesAndDtypesAreUsageErrors) {
  const BackprojectionGeometry geometry = half_turn(5, 7);
  for (const BackprojectionMethod method : kMethods) {
    const auto backprojector = make_backprojector(method, *device_, geometry, DType::f32);
    const auto create = [&](const Shape& shape, DType dtype) {
      return peakmark::create(*device_, "a", shape, dtype);
    };
    DeviceArray slices = create({2, 7, 7}, DType::f32);
    EXPECT_THROW((*backprojector)(create({2, 7, 5}, DType::f32), slices), UsageError);
    EXPECT_THROW((*backprojector)(create({3, 5, 7}, DType::f32), slices), UsageError);
    EXPECT_THROW((*backprojector)(create({2, 5, 7}, DType::f64), slices), UsageError);
    DeviceArray narrow = create({2, 7, 6}, DType::f32);
    EXPECT_THROW((*backprojector)(create({2, 5, 7}, DType::f32), narrow), UsageError);
    const DeviceArray sinograms = create({2, 5, 7}, DType::f32);
    EXPECT_THROW((*backprojector)(sinograms, 1, slices, 0, 2), UsageError);
    EXPECT_THROW((*backprojector)(sinograms, -1, slices, 0, 1), UsageError);
    EXPECT_NO_THROW((*backprojector)(sinograms, 1, slices, 0, 1));
  }
  BackprojectionGeometry wrong = geometry;
  wrong.angles[3] = std::nan("");
  for (const BackprojectionMethod method : kMethods)
    EXPECT_THROW(make_backprojector(method, *device_, wrong, DType::f32), UsageError);
  EXPECT_THROW(make_backprojector(BackprojectionMethod::tiled, *device_, geometry, DType::f64), UsageError);
}

INSTANTIATE_TEST_SUITE_P(OpenCl, BackprojectorTest, testing::Values(Grain::cpu, Grain::gpu),
                         testing_variants::name_of_grain);

}  // namespace
}  // namespace peakmark
