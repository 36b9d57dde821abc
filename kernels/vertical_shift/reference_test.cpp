#include "kernels/vertical_shift/reference.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "kernels/vertical_shift/scipy_vectors.hpp"

namespace peakmark {
namespace {

template <typename T>
class VerticalShiftReference : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(VerticalShiftReference, Elements);

TYPED_TEST(VerticalShiftReference, EqualsScipy) {
  for (const ScipyShift& c : scipy_shifts()) {
    const std::vector<TypeParam> radios(c.radios.begin(), c.radios.end());
    const std::vector<TypeParam> shifted = vertical_shift_reference<TypeParam>(radios, c.n_z, c.nx, c.shifts);
    ASSERT_EQ(shifted.size(), c.shifted.size());
    for (std::size_t i = 0; i < shifted.size(); ++i)
      EXPECT_NEAR(static_cast<double>(shifted[i]), c.shifted[i], kScipyTolerance)
          << "element " << i << ", n_z " << c.n_z;
  }
}

TYPED_TEST(VerticalShiftReference, ATermOfFactorZeroIsNotRead) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  const std::vector<TypeParam> radio{1, nan, 3};
  const std::vector<float> none{0};
  EXPECT_EQ(vertical_shift_reference<TypeParam>(radio, 3, 1, none)[0], 1);
}

}  // namespace
}  // namespace peakmark
