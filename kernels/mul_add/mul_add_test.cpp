#include "kernels/mul_add/mul_add.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/mul_add/numpy_vectors.hpp"
#include "kernels/mul_add/reference.hpp"

namespace peakmark {
namespace {

template <typename T>
std::vector<T> as(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

template <typename T>
class MulAddOn : public testing::Test {
 protected:
  std::unique_ptr<Device> device_ = testing_variants::open_opencl();
};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(MulAddOn, Elements);

TYPED_TEST(MulAddOn, EqualsNumpy) {
  MulAdd mul_add(*this->device_, dtype_of<TypeParam>);
  for (const NumpyMulAdd& c : numpy_mul_adds()) {
    Array dst = this->device_->template push<TypeParam>("dst", Shape(c.dst_shape), as<TypeParam>(c.dst));
    Array other;
    if (!c.one_array)
      other = this->device_->template push<TypeParam>("other", Shape(c.other_shape), as<TypeParam>(c.other));
    mul_add(dst, c.dst_region, c.a, c.one_array ? dst : other, c.other_region, c.b);
    EXPECT_THAT(this->device_->template pull<TypeParam>(dst), testing::ElementsAreArray(c.result))
        << c.dst_region.text() << " | " << c.other_region.text();
  }
}

TYPED_TEST(MulAddOn, OneArrayIsAsIfOtherHadBeenCopiedFirst) {
  const Shape stack{4, 7, 9};
  std::vector<TypeParam> values(static_cast<std::size_t>(stack.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<TypeParam>(i * i % 61);
  MulAdd mul_add(*this->device_, dtype_of<TypeParam>);
  const Region dst_region{1, 2, 2, 3, 4, 5};
  for (Size image0 = 0; image0 <= 2; ++image0)
    for (Size y0 = 0; y0 <= 3; ++y0)
      for (Size x0 = 0; x0 <= 4; ++x0) {
        const Region other_region{image0, 2, y0, x0, 4, 5};
        std::vector<TypeParam> expected = values;
        mul_add_reference<TypeParam>(expected, stack, dst_region, 2, values, stack, other_region, -3);
        Array array = this->device_->template push<TypeParam>("array", stack, values);
        mul_add(array, dst_region, 2, array, other_region, -3);
        EXPECT_EQ(this->device_->template pull<TypeParam>(array), expected) << other_region.text();
      }
}

class MulAddErrors : public testing::Test {
 protected:
  std::unique_ptr<Device> device_ = testing_variants::open_opencl();
  MulAdd mul_add_{*device_, DType::f32};
  Array dst_ = device_->create("dst", {2, 5, 7}, DType::f32);
  Array other_ = device_->create("other", {2, 6, 8}, DType::f32);
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
  Array doubles = device_->create("dst", {2, 5, 7}, DType::f64);
  EXPECT_THROW(mul_add_(doubles, region_, 1, other_, region_, 1), UsageError);
  EXPECT_THROW(mul_add_(dst_, region_, 1, doubles, region_, 1), UsageError);
  EXPECT_THROW(MulAdd(*device_, DType::i32), UsageError);
}

TEST_F(MulAddErrors, AFailedCallLeavesDstAsItWas) {
  device_->fill(dst_, 3);
  EXPECT_THROW(mul_add_(dst_, region_, 1, other_, {0, 2, 1, 1, 3, 4}, 1), UsageError);
  EXPECT_THAT(device_->pull<float>(dst_), testing::Each(3.0F));
}

}  // namespace
}  // namespace peakmark
