#include <gmock/gmock.h>

#include "base/error.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/operations.hpp"

namespace peakmark {
namespace {

using testing_variants::expect_exact;
using testing_variants::Grain;

class BackprojectionEstimate : public testing::Test {
 protected:
  const testing_variants::TestVariant& find(const char* name) { return variants_.find(name); }
  testing_variants::TestVariants variants_{add_backprojection};
};

TEST_F(BackprojectionEstimate, IsExact) {
  for (const char* name : {"backprojection/linear", "backprojection/tiled"})
    for (const Size n_z : {1, 2, 20, 37})
      for (const Size n_a : {1, 61, 180})
        for (const Size w : {2, 31, 128, 16384}) {
          expect_exact(find(name), {{"n_a", n_a}, {"w", w}, {"n_z", n_z}});
          expect_exact(find(name), {{"n_a", n_a},
                                    {"w", w},
                                    {"n_z", n_z},
                                    {"half", Size{1}},
                                    {"rotation_axis", std::string("80%")},
                                    {"correction", std::string("drift")}});
          expect_exact(find(name), {{"n_a", n_a},
                                    {"w", w},
                                    {"n_z", n_z},
                                    {"roi_y0", Size{1}},
                                    {"roi_h", Size{1}},
                                    {"clip", Size{1}}});
        }
}

// A texture is bound to the sinograms' own memory: it costs nothing.
TEST_F(BackprojectionEstimate, IsExactForTextures) {
  for (const Size n_z : {1, 20})
    for (const char* correction : {"none", "drift"})
      expect_exact(
          find("backprojection/texture"),
          {{"n_a", Size{64}}, {"w", Size{128}}, {"n_z", n_z}, {"correction", std::string(correction)}});
}

TEST_F(BackprojectionEstimate, WhatATextureCannotBeBoundToIsUnsupported) {
  const testing_variants::TestVariant& texture = find("backprojection/texture");
  const testing_variants::TestDevice device = testing_variants::open_dry();
  const auto make = [&](Size n_a, Size w, Size n_z) {
    texture.make(device, texture.parameters({{"n_a", n_a}, {"w", w}, {"n_z", n_z}}));
  };
  EXPECT_THROW(make(64, 127, 1), testing_variants::UnsupportedCase);
  EXPECT_THROW(make(63, 24, 2), testing_variants::UnsupportedCase);
  EXPECT_NO_THROW(make(63, 24, 1));
  EXPECT_NO_THROW(make(43200, 16384, 2));
  EXPECT_THROW(make(65001, 128, 1), testing_variants::UnsupportedCase);
  EXPECT_THROW(make(8, 131080, 1), testing_variants::UnsupportedCase);
}

TEST_F(BackprojectionEstimate, IsExactInF64) {
  expect_exact(find("backprojection/linear"), {{"n_a", Size{61}},
                                               {"w", Size{31}},
                                               {"correction", std::string("drift")},
                                               {"dtype", std::string("f64")}});
}

// One slice of the largest shape: the tables are far below a thousandth of sinogram and slice.
TEST_F(BackprojectionEstimate, HasNothingButTablesBesideSinogramAndSlice) {
  const Size floor = 4 * (Size{43200} * 16384 + Size{16384} * 16384);
  const auto peak = [&](const char* name) {
    const testing_variants::TestVariant& variant = find(name);
    return variant
        .dry_summary(variant.parameters({{"n_a", Size{43200}}, {"w", Size{16384}}, {"n_z", Size{1}}}),
                     Grain::gpu)
        .peak_bytes;
  };
  EXPECT_EQ(peak("backprojection/linear"), floor + 8 * 43200);
  EXPECT_EQ(peak("backprojection/tiled"), floor + 32 * 43200);
}

TEST_F(BackprojectionEstimate, PartsAreNamedAsTheAllocations) {
  const auto names = [&](const char* name) {
    const testing_variants::TestVariant& variant = find(name);
    std::vector<std::string> all;
    const auto parameters = variant.parameters({{"correction", std::string("drift")}});
    for (const testing_variants::EstimatedPart& part : variant.parts(parameters)) all.push_back(part.name);
    return all;
  };
  EXPECT_THAT(names("backprojection/linear"),
              testing::ElementsAre("sinograms", "slices", "cosines", "sines", "corrections"));
  EXPECT_THAT(names("backprojection/tiled"), testing::ElementsAre("sinograms", "slices", "angle_table"));
}

}  // namespace
}  // namespace peakmark
