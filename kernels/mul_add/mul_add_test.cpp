#include "kernels/mul_add/mul_add.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "base/error.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/mul_add/numpy_vectors.hpp"
#include "kernels/mul_add/reference.hpp"

namespace peakmark {
namespace {

using testing_variants::Grain;
using testing_variants::open_tested;

template <typename T>
std::vector<T> as(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

class MulAddOn : public testing::TestWithParam<Grain> {
 protected:
  testing_variants::TestDevice device_ = open_tested(GetParam());

  template <typename T>
  void expect_numpy() {
    MulAdd mul_add(*device_, dtype_of<T>);
    for (const NumpyMulAdd& c : numpy_mul_adds()) {
      DeviceArray dst = create_with<T>(*device_, "dst", Shape(c.dst_shape), as<T>(c.dst));
      DeviceArray other;
      if (!c.one_array) other = create_with<T>(*device_, "other", Shape(c.other_shape), as<T>(c.other));
      mul_add(dst, c.dst_region, c.a, c.one_array ? dst : other, c.other_region, c.b);
      EXPECT_THAT(dst.read<T>(), testing::ElementsAreArray(c.result))
          << c.dst_region.text() << " | " << c.other_region.text();
    }
  }

  template <typename T>
  void expect_as_if_copied() {
    const Shape stack{4, 7, 9};
    std::vector<T> values(static_cast<std::size_t>(stack.elements()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i * i % 61);
    MulAdd mul_add(*device_, dtype_of<T>);
    const Region dst_region{1, 2, 2, 3, 4, 5};
    for (Size image0 = 0; image0 <= 2; ++image0)
      for (Size y0 = 0; y0 <= 3; ++y0)
        for (Size x0 = 0; x0 <= 4; ++x0) {
          const Region other_region{image0, 2, y0, x0, 4, 5};
          std::vector<T> expected = values;
          mul_add_reference<T>(expected, stack, dst_region, 2, values, stack, other_region, -3);
          DeviceArray array = create_with<T>(*device_, "array", stack, values);
          mul_add(array, dst_region, 2, array, other_region, -3);
          EXPECT_EQ(array.read<T>(), expected) << other_region.text();
        }
  }
};

TEST_P(MulAddOn, EqualsNumpy) {
  expect_numpy<float>();
  expect_numpy<double>();
}

TEST_P(MulAddOn, OneArrayIsAsIfOtherHadBeenCopiedFirst) {
  expect_as_if_copied<float>();
  expect_as_if_copied<double>();
}

// More rows and more images than a launch has along y and z.
TEST_P(MulAddOn, ManyRowsAndImages) {
  MulAdd mul_add(*device_, DType::f32);
  for (const Shape& stack : {Shape{1, 200000, 1}, Shape{200000, 1, 1}}) {
    std::vector<float> values(200000);
    std::iota(values.begin(), values.end(), 0.0F);
    DeviceArray dst = create_with<float>(*device_, "dst", stack, values);
    const DeviceArray other = create_with<float>(*device_, "other", stack, values);
    mul_add(dst, whole_region(stack), 1, other, whole_region(stack), 2);
    for (float& value : values) value *= 3;
    EXPECT_EQ(dst.read<float>(), values);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, MulAddOn, testing::Values(Grain::cpu, Grain::gpu),
                         testing_variants::name_of_grain);

class MulAddErrors : public testing::Test {
 protected:
  testing_variants::TestDevice device_ = open_tested(Grain::cpu);
  MulAdd mul_add_{*device_, DType::f32};
  DeviceArray dst_ = create(*device_, "dst", {2, 5, 7}, DType::f32);
  DeviceArray other_ = create(*device_, "other", {2, 6, 8}, DType::f32);
  Region region_{0, 2, 1, 1, 3, 3};
};

TEST_F(MulAddErrors, EmptyRegion) {
  EXPECT_THROW(mul_add_(dst_, {0, 2, 1, 1, 0, 3}, 1, other_, {0, 2, 1, 1, 0, 3}, 1), UsageError);
}

TEST_F(MulAddErrors, UnequalRegions) {
  EXPECT_THROW(mul_add_(dst_, region_, 1, other_, {0, 2, 1, 1, 3, 4}, 1), UsageError);
}

TEST_F(MulAddErrors, RegionOutOfTheImage) {
  EXPECT_THROW(mul_add_(dst_, {0, 2, 3, 0, 3, 3}, 1, other_, region_, 1), UsageError);
  EXPECT_THROW(mul_add_(dst_, region_, 1, other_, {0, 2, 0, 6, 3, 3}, 1), UsageError);
}

TEST_F(MulAddErrors, AnotherDtypeIsNeverConverted) {
  DeviceArray doubles = create(*device_, "dst", {2, 5, 7}, DType::f64);
  EXPECT_THROW(mul_add_(doubles, region_, 1, other_, region_, 1), UsageError);
  EXPECT_THROW(mul_add_(dst_, region_, 1, doubles, region_, 1), UsageError);
  EXPECT_THROW(MulAdd(*device_, DType::i32), UsageError);
}

TEST_F(MulAddErrors, AFailedCallLeavesDstAsItWas) {
  dst_.fill(3);
  EXPECT_THROW(mul_add_(dst_, region_, 1, other_, {0, 2, 1, 1, 3, 4}, 1), UsageError);
  EXPECT_THAT(dst_.read<float>(), testing::Each(3.0F));
}

}  // namespace
}  // namespace peakmark
