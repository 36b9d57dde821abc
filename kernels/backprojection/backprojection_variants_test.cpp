#include <gmock/gmock.h>

#include "base/error.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/operations.hpp"
#include "worker/variant.hpp"

namespace peakmark {
namespace {

using std::string;
using testing_variants::expect_right;
using testing_variants::parameters_of;

class BackprojectionVariants : public testing::TestWithParam<testing_variants::Grain> {
 protected:
  BackprojectionVariants() { add_backprojection(registry_); }
  [[nodiscard]] std::vector<Variant> variants() const {
    return {*registry_.find("backprojection/linear"), *registry_.find("backprojection/tiled")};
  }
  Registry registry_;
  std::unique_ptr<Device> device_ = testing_variants::open_tested(GetParam());
};

// Tiles are 64 x 8 and 32 x 32: below, at and beyond their borders, odd and prime.
TEST_P(BackprojectionVariants, AreRightWhateverTheSizes) {
  for (const Variant& variant : variants())
    for (const Size w : {2, 3, 31, 64, 67})
      for (const Size n_a : {1, 16, 37})
        expect_right(*device_, variant, {{"n_a", n_a}, {"w", w}, {"n_z", Size{3}}});
}

TEST_P(BackprojectionVariants, AreRightForAnyScan) {
  for (const Variant& variant : variants())
    for (const string& angles : angle_patterns())
      for (const string& correction : correction_patterns())
        for (const Size half : {0, 1})
          for (const char* axis : {"centre", "13.3%", "100%"})
            expect_right(*device_, variant,
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
  for (const Variant& variant : variants())
    for (const Size clip : {0, 1}) {
      expect_right(*device_, variant,
                   {{"n_a", Size{17}},
                    {"w", Size{101}},
                    {"n_z", Size{2}},
                    {"roi_y0", Size{7}},
                    {"roi_x0", Size{13}},
                    {"roi_h", Size{43}},
                    {"roi_w", Size{71}},
                    {"clip", clip}});
      expect_right(*device_, variant,
                   {{"n_a", Size{17}},
                    {"w", Size{101}},
                    {"n_z", Size{2}},
                    {"roi_y0", Size{100}},
                    {"roi_x0", Size{100}},
                    {"clip", clip}});
    }
}

TEST_P(BackprojectionVariants, F64IsRightToItsOwnPrecision) {
  expect_right(*device_, *registry_.find("backprojection/linear"),
               {{"n_a", Size{37}},
                {"w", Size{67}},
                {"n_z", Size{2}},
                {"correction", string("random4")},
                {"dtype", string("f64")}});
}

// More pixels than a verification compares.
TEST_P(BackprojectionVariants, ALargeCaseIsVerifiedBySamples) {
  for (const Variant& variant : variants())
    expect_right(*device_, variant, {{"n_a", Size{180}}, {"w", Size{331}}, {"n_z", Size{1}}});
}

TEST_P(BackprojectionVariants, AnotherSlicesSinogramIsFoundWrong) {
  for (const Variant& variant : variants()) {
    const auto computation =
        variant.make(*device_, parameters_of(variant, {{"n_a", Size{5}}, {"w", Size{17}}, {"n_z", Size{2}}}));
    computation->set_up();
    computation->create_inputs();
    computation->create_outputs();
    const Verification verification = computation->verify();  // before any call
    EXPECT_FALSE(verification.ok) << variant.description.name;
    EXPECT_THAT(verification.message, testing::HasSubstr("pixels compared are wrong; the first, slices["));
  }
}

TEST_P(BackprojectionVariants, WrongInputIsAUsageErrorBeforeAnythingIsAllocated) {
  for (const Variant& variant : variants()) {
    const auto make = [&](testing_variants::Overrides overrides) {
      variant.make(*device_, parameters_of(variant, overrides));
    };
    EXPECT_THROW(make({{"w", Size{1}}}), UsageError);
    EXPECT_THROW(make({{"rotation_axis", string("128")}}), UsageError);
    EXPECT_THROW(make({{"roi_h", Size{129}}}), UsageError);
    EXPECT_THROW(make({{"angles", string("golden")}}), UsageError);
    EXPECT_THROW(make({{"n_z", Size{1} << 62}}), UsageError);
    EXPECT_THROW(make({{"dtype", string("i32")}}), UsageError);
  }
  const Variant& tiled = *registry_.find("backprojection/tiled");
  const auto in_f64 = [&] { tiled.make(*device_, parameters_of(tiled, {{"dtype", string("f64")}})); };
  EXPECT_THROW(in_f64(), UsageError);
}

TEST_P(BackprojectionVariants, TexturesAreForCuda) {
  const Variant& texture = *registry_.find("backprojection/texture");
  EXPECT_THAT(texture.description.backends, testing::Not(testing::Contains("opencl")));
  EXPECT_THROW(texture.make(*device_, parameters_of(texture, {})), Unsupported);
}

INSTANTIATE_TEST_SUITE_P(OpenCl, BackprojectionVariants,
                         testing::Values(testing_variants::Grain::cpu, testing_variants::Grain::gpu),
                         testing_variants::name_of_grain);

}  // namespace
}  // namespace peakmark
