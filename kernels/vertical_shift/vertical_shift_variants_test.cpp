#include <gmock/gmock.h>

#include "base/error.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/operations.hpp"
#include "kernels/vertical_shift/shifts.hpp"

namespace peakmark {
namespace {

using testing_variants::expect_right;

class VerticalShiftVariants : public testing::TestWithParam<testing_variants::Grain> {
 protected:
  testing_variants::TestVariants variants_{add_vertical_shift};
  testing_variants::TestDevice device_ = testing_variants::open_tested(GetParam());
};

TEST_P(VerticalShiftVariants, AreThree) {
  EXPECT_EQ(std::distance(variants_.begin(), variants_.end()), 3);
}

TEST_P(VerticalShiftVariants, AreRight) {
  for (const testing_variants::TestVariant& variant : variants_)
    for (const std::string& pattern : shift_patterns())
      for (const char* dtype : {"f32", "f64"}) {
        expect_right(device_, variant,
                     {{"n_a", 5}, {"n_z", 17}, {"nx", 31}, {"shift", pattern}, {"dtype", dtype}});
        expect_right(device_, variant,
                     {{"n_a", 1}, {"n_z", 1}, {"nx", 1}, {"shift", pattern}, {"dtype", dtype}});
        expect_right(device_, variant,
                     {{"n_a", 3}, {"n_z", 3}, {"nx", 127}, {"shift", pattern}, {"dtype", dtype}});
      }
}

TEST_P(VerticalShiftVariants, ALargeCaseIsVerifiedBySamples) {
  for (const testing_variants::TestVariant& variant : variants_)
    expect_right(device_, variant, {{"n_a", 5}, {"n_z", 1031}, {"nx", 1021}});
}

TEST_P(VerticalShiftVariants, AStackShiftedTwiceIsFoundWrong) {
  for (const testing_variants::TestVariant& variant : variants_) {
    const auto computation = variant.make(device_, variant.parameters({{"n_a", 2}, {"n_z", 17}, {"nx", 5}}));
    computation->set_up();
    computation->create_inputs();
    computation->call();
    computation->call();
    EXPECT_THAT(computation->verify(), testing::HasSubstr("elements compared are wrong; the first at (0, "));
  }
}

TEST_P(VerticalShiftVariants, AnUnknownPatternOrDtypeIsAUsageError) {
  for (const testing_variants::TestVariant& variant : variants_) {
    EXPECT_THROW(variant.make(device_, variant.parameters({{"shift", "random9"}})), UsageError);
    const auto make_and_set_up = [&] {
      variant.make(device_, variant.parameters({{"dtype", "i32"}}))->set_up();
    };
    EXPECT_THROW(make_and_set_up(), UsageError);
  }
}

TEST_P(VerticalShiftVariants, BytesMovedAreRowsReadAndWritten) {
  const testing_variants::TestVariant& variant = variants_.find("vertical_shift/fused");
  const auto moved = [&](const char* pattern) {
    return variant
        .make(device_, variant.parameters({{"n_a", 2}, {"n_z", 10}, {"nx", 4}, {"shift", pattern}}))
        ->bytes_moved();
  };
  EXPECT_EQ(moved("zero"), 0);
  EXPECT_EQ(moved("beyond"), 2 * 10 * 4 * 4);
}

INSTANTIATE_TEST_SUITE_P(Devices, VerticalShiftVariants,
                         testing::Values(testing_variants::Grain::cpu, testing_variants::Grain::gpu),
                         testing_variants::name_of_grain);

}  // namespace
}  // namespace peakmark
