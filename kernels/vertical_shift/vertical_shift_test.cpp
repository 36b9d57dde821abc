#include "kernels/vertical_shift/vertical_shift.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/error.hpp"
#include "kernels/common/seeded.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/vertical_shift/reference.hpp"
#include "kernels/vertical_shift/scipy_vectors.hpp"
#include "kernels/vertical_shift/shifts.hpp"

namespace peakmark {
namespace {

using testing_variants::Grain;

// The three implementations behind one function that returns the shifted radios.
enum class Implementation { temporaries, muladd, fused };

template <typename T>
std::vector<T> shift(Device& device, Implementation implementation, const std::vector<T>& radios, Size n_z,
                     Size nx, const std::vector<float>& shifts) {
  const auto n_a = static_cast<Size>(shifts.size());
  constexpr DType dtype = dtype_of<T>;
  DeviceArray stack = create_with<T>(device, "radios", {n_a, n_z, nx}, radios);
  switch (implementation) {
    case Implementation::temporaries:
      ShiftWithTemporaries(device, dtype, n_z, nx)(stack, shifts);
      break;
    case Implementation::muladd:
      ShiftWithMulAdd(device, dtype, n_z, nx)(stack, shifts);
      break;
    case Implementation::fused:
      FusedShift(device, dtype)(stack, create_with<float>(device, "shifts", {n_a}, shifts));
      break;
  }
  return stack.read<T>();
}

template <typename T>
void expect_near(const std::vector<T>& actual, const std::vector<T>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(static_cast<double>(actual[i]), static_cast<double>(expected[i]), tolerance)
        << "element " << i;
}

template <typename T>
std::vector<T> seeded_radios(Size n_a, Size n_z, Size nx) {
  std::vector<T> radios(static_cast<std::size_t>(n_a * n_z * nx));
  fill_seeded(std::span(radios), 5, 0);
  return radios;
}

class VerticalShift : public testing::TestWithParam<std::tuple<Implementation, Grain>> {
 protected:
  Implementation implementation_ = std::get<0>(GetParam());
  testing_variants::TestDevice device_ = testing_variants::open_tested(std::get<1>(GetParam()));

  template <typename T>
  void expect_reference(Size n_z, Size nx, const std::vector<float>& shifts) {
    const auto radios = seeded_radios<T>(static_cast<Size>(shifts.size()), n_z, nx);
    SCOPED_TRACE(testing::Message() << "n_z " << n_z << ", nx " << nx);
    expect_near(shift(*device_, implementation_, radios, n_z, nx, shifts),
                vertical_shift_reference<T>(radios, n_z, nx, shifts),
                4 * static_cast<double>(std::numeric_limits<T>::epsilon()));
  }
};

TEST_P(VerticalShift, EqualsScipy) {
  for (const ScipyShift& c : scipy_shifts()) {
    expect_near(shift(*device_, implementation_, c.radios, c.n_z, c.nx, c.shifts), c.shifted,
                kScipyTolerance);
    const std::vector<double> radios(c.radios.begin(), c.radios.end());
    const std::vector<double> shifted(c.shifted.begin(), c.shifted.end());
    expect_near(shift(*device_, implementation_, radios, c.n_z, c.nx, c.shifts), shifted, kScipyTolerance);
  }
}

TEST_P(VerticalShift, EqualsTheReferenceOnOddShapes) {
  for (const auto& [n_z, nx] : {std::pair<Size, Size>{13, 11}, {1, 1}, {2, 4099}, {31, 2048}, {8, 1}})
    for (const std::string& pattern : shift_patterns()) {
      expect_reference<float>(n_z, nx, shifts_of_angles(pattern, 5, n_z));
      expect_reference<double>(n_z, nx, shifts_of_angles(pattern, 5, n_z));
    }
}

TEST_P(VerticalShift, ShiftsAtTheEdges) {
  const float just_below_zero = -std::numeric_limits<float>::denorm_min();
  expect_reference<float>(
      7, 3, {0.5F, -0.5F, 0.999999F, -0.999999F, just_below_zero, -1e-9F, 6.999F, -6.999F, 7, -7});
  expect_reference<double>(7, 3,
                           {0.5F, -0.5F, 0.999999F, -0.999999F, just_below_zero, -1e-9F, 6.999F, -6.999F});
  expect_reference<float>(7, 3, {1e30F, -1e30F});
}

TEST_P(VerticalShift, AChunkThatDoesNotStartAtZero) {
  const std::vector<float> all = shifts_of_angles("random8", 30, 17);
  const std::vector<float> chunk = shifts_of_chunk(all, std::vector<Size>{11, 12, 13, 14});
  ASSERT_EQ(chunk[0], all[11]);
  expect_reference<float>(17, 5, chunk);
}

// For any order of the angles, radio i is shifted once, by the shift of its angle.
TEST_P(VerticalShift, AnyOrderOfAngles) {
  const std::vector<float> all = shifts_of_angles("random8", 6, 17);
  std::vector<Size> angles(6);
  std::iota(angles.begin(), angles.end(), 0);
  const auto radios = seeded_radios<float>(6, 17, 3);
  const std::size_t radio = 17 * 3;
  for (int i = 0; i < 20; ++i) {
    std::ranges::next_permutation(angles);
    std::ranges::reverse(angles);
    const auto shifted = shift(*device_, implementation_, radios, 17, 3, shifts_of_chunk(all, angles));
    for (std::size_t a = 0; a < angles.size(); ++a) {
      const std::vector<float> alone(radios.begin() + static_cast<std::ptrdiff_t>(a * radio),
                                     radios.begin() + static_cast<std::ptrdiff_t>((a + 1) * radio));
      const std::vector<float> own{all[static_cast<std::size_t>(angles[a])]};
      const std::vector<float> got(shifted.begin() + static_cast<std::ptrdiff_t>(a * radio),
                                   shifted.begin() + static_cast<std::ptrdiff_t>((a + 1) * radio));
      expect_near(got, vertical_shift_reference<float>(alone, 17, 3, own), 1e-6);
    }
  }
}

TEST_P(VerticalShift, ARowThatIsNotUsedMayHoldAnything) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> radio{1, 2, nan, nan};
  EXPECT_THAT(shift(*device_, implementation_, radio, 4, 1, {-3.0F}), testing::ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(shift(*device_, implementation_, radio, 4, 1, {-2.5F}), testing::ElementsAre(0, 0, 0.5F, 1.5F));
  EXPECT_THAT(shift(*device_, implementation_, radio, 4, 1, {9.0F}), testing::Each(0));
}

TEST_P(VerticalShift, AnEmptyStackStaysEmpty) {
  EXPECT_TRUE(shift<float>(*device_, implementation_, {}, 5, 3, {}).empty());
  EXPECT_TRUE(shift<float>(*device_, implementation_, {}, 5, 0, {1, 2}).empty());
}

// Rows are processed four at a time if all their sources exist. Tests heights around that, and wide blocks.
TEST_P(VerticalShift, EveryHeightAndShift) {
  for (Size n_z = 3; n_z <= 13; ++n_z) {
    std::vector<float> shifts;
    for (int s = -14; s <= 14; ++s) shifts.push_back(static_cast<float>(s) + 0.375F);
    for (int s = -14; s <= 14; ++s) shifts.push_back(static_cast<float>(s));
    expect_reference<float>(n_z, 37, shifts);
  }
  expect_reference<float>(41, 5003, {0.25F, -0.25F, 3.5F, -3.5F});
}

// A work-group of a GPU processes 128 to 512 rows at a time: more rows if it is narrower. It is narrower if
// there are fewer radios.
TEST_P(VerticalShift, MoreRowsThanAGroupTakesAtATime) {
  for (const Size compute_units : {1, 4, 1000}) {
    device_ = testing_variants::open_tested(std::get<1>(GetParam()), compute_units);
    for (const Size n_z : {127, 128, 130, 511, 1100})
      expect_reference<float>(n_z, 35, {0.25F, -0.25F, -1, 1, 130.5F, -130.5F, 517});
    expect_reference<double>(300, 35, {0.25F, -7.25F});
  }
}

TEST_P(VerticalShift, UsageErrors) {
  const auto radios = seeded_radios<float>(2, 3, 4);
  EXPECT_THROW(shift(*device_, implementation_, seeded_radios<float>(3, 3, 4), 3, 4, {1, 2}),
               std::invalid_argument);
  DeviceArray stack = create_with<float>(*device_, "radios", {2, 3, 4}, radios);
  const std::vector<float> three{1, 2, 3};
  if (implementation_ == Implementation::fused) {
    const DeviceArray shifts = create_with<float>(*device_, "shifts", {3}, three);
    EXPECT_THROW(FusedShift(*device_, DType::f32)(stack, shifts), UsageError);
    EXPECT_THROW(FusedShift(*device_, DType::i32), UsageError);
  } else if (implementation_ == Implementation::muladd) {
    EXPECT_THROW(ShiftWithMulAdd(*device_, DType::f32, 3, 4)(stack, three), UsageError);
    EXPECT_THROW(ShiftWithMulAdd(*device_, DType::f32, 4, 4)(stack, std::span(three).first(2)), UsageError);
    EXPECT_THROW(ShiftWithMulAdd(*device_, DType::f64, 3, 4)(stack, std::span(three).first(2)), UsageError);
  } else {
    EXPECT_THROW(ShiftWithTemporaries(*device_, DType::f32, 3, 4)(stack, three), UsageError);
    EXPECT_THROW(ShiftWithTemporaries(*device_, DType::f32, 3, 5)(stack, std::span(three).first(2)),
                 UsageError);
    EXPECT_THROW(ShiftWithTemporaries(*device_, DType::f64, 3, 4)(stack, std::span(three).first(2)),
                 UsageError);
  }
}

std::string to_string(const testing::TestParamInfo<std::tuple<Implementation, Grain>>& info) {
  constexpr std::array kNames = {"temporaries", "muladd", "fused"};
  const auto [implementation, grain] = info.param;
  return std::string(kNames.at(static_cast<std::size_t>(implementation))) +
         (grain == Grain::cpu ? "_cpu_grain" : "_gpu_grain");
}

INSTANTIATE_TEST_SUITE_P(Devices, VerticalShift,
                         testing::Combine(testing::Values(Implementation::temporaries, Implementation::muladd,
                                                          Implementation::fused),
                                          testing::Values(Grain::cpu, Grain::gpu)),
                         to_string);

}  // namespace
}  // namespace peakmark
