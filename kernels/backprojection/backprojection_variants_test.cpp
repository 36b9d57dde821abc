#include <gmock/gmock.h>

#include "base/error.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/operations.hpp"

namespace peakmark {
namespace {

using std::string;
using testing_variants::expect_right;

class BackprojectionVariants : public testing::TestWithParam<testing_variants::Grain> {
 protected:
  [[nodiscard]] std::vector<testing_variants::TestVariant> linear_and_tiled() const {
    return {variants_.find("backprojection/linear"), variants_.find("backprojection/tiled")};
  }
  testing_variants::TestVariants variants_{add_backprojection};
  testing_variants::TestDevice device_ = testing_variants::open_tested(GetParam());
};

// Tiles are 64 x 8 and 32 x 32: below, at and beyond their borders, odd and prime.
TEST_P(BackprojectionVariants, AreRightWhateverTheSizes) {
  for (const testing_variants::TestVariant& variant : linear_and_tiled())
    for (const Size w : {2, 3, 31, 64, 67})
      for (const Size n_a : {1, 16, 37})
        expect_right(device_, variant, {{"n_a", n_a}, {"w", w}, {"n_z", Size{3}}});
}

TEST_P(BackprojectionVariants, AreRightForAnyScan) {
  for (const testing_variants::TestVariant& variant : linear_and_tiled())
    for (const string& angles : angle_patterns())
      for (const string& correction : correction_patterns())
        for (const Size half : {0, 1})
          for (const char* axis : {"centre", "13.3%", "100%"})
            expect_right(device_, variant,
                         {{"n_a", Size{19}},
                          {"w", Size{45}},
                          {"n_z", Size{2}},
                          {"angles", angles},
                          {"correction", correction},
                          {"half", half},
                          {"rotation_axis", string(axis)},
                          {"clip", half}});
}

TEST_P(BackprojectionVariants, ARegionIsRight) {
  for (const testing_variants::TestVariant& variant : linear_and_tiled())
    for (const Size clip : {0, 1}) {
      expect_right(device_, variant,
                   {{"n_a", Size{17}},
                    {"w", Size{101}},
                    {"n_z", Size{2}},
                    {"roi_y0", Size{7}},
                    {"roi_x0", Size{13}},
                    {"roi_h", Size{43}},
                    {"roi_w", Size{71}},
                    {"clip", clip}});
      expect_right(device_, variant,
                   {{"n_a", Size{17}},
                    {"w", Size{101}},
                    {"n_z", Size{2}},
                    {"roi_y0", Size{100}},
                    {"roi_x0", Size{100}},
                    {"clip", clip}});
    }
}

TEST_P(BackprojectionVariants, F64IsRightToItsOwnPrecision) {
  expect_right(device_, variants_.find("backprojection/linear"),
               {{"n_a", Size{37}},
                {"w", Size{67}},
                {"n_z", Size{2}},
                {"correction", string("random4")},
                {"dtype", string("f64")}});
}

// More pixels than a verification compares.
TEST_P(BackprojectionVariants, ALargeCaseIsVerifiedBySamples) {
  for (const testing_variants::TestVariant& variant : linear_and_tiled())
    expect_right(device_, variant, {{"n_a", Size{180}}, {"w", Size{331}}, {"n_z", Size{1}}});
}

TEST_P(BackprojectionVariants, AnotherSlicesSinogramIsFoundWrong) {
  for (const testing_variants::TestVariant& variant : linear_and_tiled()) {
    const auto test_case =
        variant.make(device_, variant.parameters({{"n_a", Size{5}}, {"w", Size{17}}, {"n_z", Size{2}}}));
    test_case->set_up();
    test_case->create_inputs();
    test_case->create_outputs();
    // Before any call.
    EXPECT_THAT(test_case->verify(), testing::HasSubstr("pixels compared are wrong; the first, slices["))
        << variant.name();
  }
}

TEST_P(BackprojectionVariants, WrongInputIsAUsageErrorBeforeAnythingIsAllocated) {
  for (const testing_variants::TestVariant& variant : linear_and_tiled()) {
    const auto make = [&](testing_variants::Overrides overrides) {
      variant.make(device_, variant.parameters(overrides));
    };
    EXPECT_THROW(make({{"w", Size{1}}}), UsageError);
    EXPECT_THROW(make({{"rotation_axis", string("128")}}), UsageError);
    EXPECT_THROW(make({{"roi_h", Size{129}}}), UsageError);
    EXPECT_THROW(make({{"angles", string("golden")}}), UsageError);
    EXPECT_THROW(make({{"n_z", Size{1} << 62}}), UsageError);
    EXPECT_THROW(make({{"dtype", string("i32")}}), UsageError);
  }
  const testing_variants::TestVariant& tiled = variants_.find("backprojection/tiled");
  const auto in_f64 = [&] { tiled.make(device_, tiled.parameters({{"dtype", string("f64")}})); };
  EXPECT_THROW(in_f64(), UsageError);
}

TEST_P(BackprojectionVariants, TexturesAreForCuda) {
  const testing_variants::TestVariant& texture = variants_.find("backprojection/texture");
  EXPECT_THAT(texture.backends(), testing::Not(testing::Contains("opencl")));
  EXPECT_THROW(texture.make(device_, texture.parameters({})), testing_variants::UnsupportedCase);
}

INSTANTIATE_TEST_SUITE_P(OpenCl, BackprojectionVariants,
                         testing::Values(testing_variants::Grain::cpu, testing_variants::Grain::gpu),
                         testing_variants::name_of_grain);

}  // namespace
}  // namespace peakmark
