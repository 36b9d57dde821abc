#include "kernels/mul_add/reference.hpp"

#include <gmock/gmock.h>

#include "kernels/mul_add/numpy_vectors.hpp"

namespace peakmark {
namespace {

template <typename T>
class MulAddReference : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(MulAddReference, Elements);

TYPED_TEST(MulAddReference, EqualsNumpy) {
  for (const NumpyMulAdd& c : numpy_mul_adds()) {
    std::vector<TypeParam> dst(c.dst.begin(), c.dst.end());
    const std::vector<TypeParam> other =
        c.one_array ? dst : std::vector<TypeParam>(c.other.begin(), c.other.end());
    mul_add_reference<TypeParam>(dst, Shape(c.dst_shape), c.dst_region, static_cast<TypeParam>(c.a), other,
                                 Shape(c.other_shape), c.other_region, static_cast<TypeParam>(c.b));
    EXPECT_THAT(dst, testing::ElementsAreArray(c.result)) << c.dst_region.text();
  }
}

}  // namespace
}  // namespace peakmark
