#include <gmock/gmock.h>

#include "base/error.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/operations.hpp"

namespace peakmark {
namespace {

using testing_variants::expect_right;

class MulAddVariants : public testing::TestWithParam<testing_variants::Grain> {
 protected:
  const testing_variants::TestVariant& whole() { return variants_.find("mul_add/whole"); }
  const testing_variants::TestVariant& subregion() { return variants_.find("mul_add/subregion"); }
  testing_variants::TestVariants variants_{add_mul_add};
  testing_variants::TestDevice device_ = testing_variants::open_tested(GetParam());
};

TEST_P(MulAddVariants, WholeIsRight) {
  for (const char* dtype : {"f32", "f64"}) {
    expect_right(device_, whole(), {{"n", 3}, {"ny", 17}, {"nx", 31}, {"dtype", dtype}});
    expect_right(device_, whole(), {{"n", 1}, {"ny", 1}, {"nx", 1}, {"dtype", dtype}});
    expect_right(device_, whole(), {{"n", 20}, {"ny", 127}, {"nx", 64}, {"dtype", dtype}});
  }
}

TEST_P(MulAddVariants, SubregionIsRight) {
  for (const char* dtype : {"f32", "f64"}) {
    expect_right(device_, subregion(), {{"n", 3}, {"ny", 17}, {"nx", 31}, {"dtype", dtype}});
    expect_right(device_, subregion(),
                 {{"n", 3}, {"ny", 17}, {"nx", 31}, {"dst_y0", 2}, {"other_x0", 5}, {"dtype", dtype}});
    expect_right(device_, subregion(),
                 {{"n", 2},
                  {"ny", 19},
                  {"nx", 23},
                  {"dst_y0", 3},
                  {"dst_x0", 4},
                  {"other_y0", 7},
                  {"other_x0", 1},
                  {"h", 11},
                  {"w", 13},
                  {"dtype", dtype}});
    for (const Size other_y0 : {0, 3, 4, 8, 14})
      for (const Size other_x0 : {0, 3, 10})
        expect_right(device_, subregion(),
                     {{"n", 3},
                      {"ny", 19},
                      {"nx", 23},
                      {"dst_y0", 3},
                      {"dst_x0", 3},
                      {"other_y0", other_y0},
                      {"other_x0", other_x0},
                      {"h", 5},
                      {"w", 7},
                      {"alias", 1},
                      {"dtype", dtype}});
  }
}

// Too many elements to compare all: rows are sampled, and a fault in every row is found.
TEST_P(MulAddVariants, ALargeCaseIsVerifiedBySamples) {
  expect_right(device_, subregion(), {{"n", 5}, {"ny", 1031}, {"nx", 1021}, {"dst_y0", 1}, {"other_x0", 2}});
}

TEST_P(MulAddVariants, ASecondCallWithoutRestoredInputsIsFoundWrong) {
  const auto computation =
      subregion().make(device_, subregion().parameters({{"n", 2}, {"ny", 5}, {"nx", 7}}));
  computation->set_up();
  computation->create_inputs();
  computation->call();
  computation->call();
  EXPECT_THAT(computation->verify(),
              testing::HasSubstr("70 of 70 elements compared are wrong; the first at (0, 0, 0)"));
}

TEST_P(MulAddVariants, BadAxesAreUsageErrors) {
  const auto make = [&](testing_variants::Overrides overrides) {
    return subregion().make(device_, subregion().parameters(overrides));
  };
  EXPECT_THROW(make({{"ny", 8}, {"dst_y0", 8}}), UsageError);
  EXPECT_THROW(make({{"ny", 8}, {"dst_y0", 1}, {"h", 8}}), UsageError);
  EXPECT_THROW(make({{"nx", 8}, {"other_x0", 4}, {"w", 5}}), UsageError);
  EXPECT_THROW(make({{"alias", 2}}), UsageError);
  EXPECT_THROW(make({{"dtype", "i32"}}), UsageError);
}

TEST_P(MulAddVariants, BytesMovedAreThoseOfAPerfectKernel) {
  const auto moved = [&](const testing_variants::TestVariant& variant,
                         testing_variants::Overrides overrides) {
    return variant.make(device_, variant.parameters(overrides))->bytes_moved();
  };
  EXPECT_EQ(moved(whole(), {{"n", 2}, {"ny", 3}, {"nx", 5}}), 3 * 2 * 3 * 5 * 4);
  EXPECT_EQ(moved(subregion(), {{"n", 2}, {"ny", 9}, {"nx", 9}, {"h", 3}, {"w", 5}, {"dtype", "f64"}}),
            3 * 2 * 3 * 5 * 8);
  // The regions share 2 by 4 elements, which are read once.
  EXPECT_EQ(
      moved(subregion(),
            {{"n", 1}, {"ny", 9}, {"nx", 9}, {"dst_y0", 1}, {"dst_x0", 1}, {"h", 3}, {"w", 5}, {"alias", 1}}),
      (3 * 3 * 5 - 2 * 4) * 4);
}

INSTANTIATE_TEST_SUITE_P(Devices, MulAddVariants,
                         testing::Values(testing_variants::Grain::cpu, testing_variants::Grain::gpu),
                         testing_variants::name_of_grain);

}  // namespace
}  // namespace peakmark
