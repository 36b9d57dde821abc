#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/seeded.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/fbp/fbp_testing.hpp"
#include "kernels/fbp/reconstructor.hpp"
#include "kernels/operations.hpp"

namespace peakmark {
namespace {

using std::string;
using testing_variants::expect_right;

// Only one padded length, since PoCL needs a second to compile each.
constexpr Size kColumns = 53;

class FbpOnOpenCl : public testing::TestWithParam<testing_variants::Grain> {
 protected:
  testing_variants::TestVariants variants_{add_fbp};
  testing_variants::TestDevice device_ = testing_variants::open_tested(GetParam());
};

TEST_P(FbpOnOpenCl, EveryModeAndFilterIsRight) {
  for (const testing_variants::TestVariant& variant : variants_) {
    for (const string& mode : filter_padding_names())
      expect_right(device_, variant, {{"n_a", Size{37}}, {"w", kColumns}, {"n_z", Size{2}}, {"mode", mode}});
    for (const string filter : {"hann", "hilbert"})
      expect_right(device_, variant,
                   {{"n_a", Size{37}}, {"w", kColumns}, {"n_z", Size{1}}, {"filter", filter}});
  }
}

TEST_P(FbpOnOpenCl, AnyScanIsRight) {
  for (const testing_variants::TestVariant& variant : variants_)
    for (const Size chunk : {0, 2})
      for (const Size half : {0, 1})
        for (const string correction : {"none", "random4"})
          expect_right(device_, variant,
                       {{"n_a", Size{36}},
                        {"w", kColumns},
                        {"n_z", Size{3}},
                        {"chunk", chunk},
                        {"half", half},
                        {"correction", correction},
                        {"angles", string("full_turn")},
                        {"rotation_axis", string("85%")},
                        {"roi_x0", Size{11}},
                        {"clip", half}});
}

TEST_P(FbpOnOpenCl, OnlyInPlaceDestroysItsSinograms) {
  for (const FbpMethod method : {FbpMethod::whole, FbpMethod::inplace, FbpMethod::kept})
    for (const bool half : {false, true}) {
      const FbpShape shape{3, 36, kColumns};
      FbpOptions options;
      options.method = method;
      options.half = half;
      if (half) options.axis = 45;
      Reconstructor reconstructor(*device_, shape, options, {angles_of_pattern("full_turn", 36)});
      reconstructor.set_up();
      DeviceArray sinograms = create_with<float>(*device_, "sinograms", reconstructor.sinograms_shape(),
                                                 seeded_generator<float>(1));
      const std::vector<float> before = sinograms.read<float>();
      DeviceArray slices = create_uninitialised(*device_, "slices", reconstructor.slices_shape(), DType::f32);
      reconstructor(sinograms, slices);
      EXPECT_EQ(sinograms.read<float>() != before, destroys_input(method)) << to_string(method);
      EXPECT_EQ(variants_.find("fbp/" + string(to_string(method))).destroys_input(), destroys_input(method));
    }
}

TEST_P(FbpOnOpenCl, AChunkedStackIsItsSlices) {
  for (const fbp_testing::ChunkedScan& scan : fbp_testing::chunked_scans()) {
    // With an odd number of lines, `whole` filters one line together with a line of another sinogram. There
    // are half as many joined lines.
    for (const FbpMethod method : {FbpMethod::inplace, FbpMethod::kept})
      fbp_testing::expect_chunks_are_slices(*device_, method, scan.half ? 38 : 37, scan);
    fbp_testing::expect_chunks_are_slices(*device_, FbpMethod::whole, 36, scan);
  }
}

TEST_P(FbpOnOpenCl, PhantomsAreSeenWhereTheyAre) {
  for (const FbpMethod method : {FbpMethod::whole, FbpMethod::inplace, FbpMethod::kept})
    for (const fbp_testing::Scan& scan : fbp_testing::scans())
      fbp_testing::expect_phantoms_seen(*device_, method, scan);
}

// Objects near the rim of the slice are seen in columns beyond the line about the uncorrected axis.
TEST_P(FbpOnOpenCl, WithTheAxisCorrectedOutwardsTheWholeSliceIsRight) {
  for (const FbpMethod method : {FbpMethod::whole, FbpMethod::inplace})
    for (const fbp_testing::Scan& scan : fbp_testing::outward_scans())
      fbp_testing::expect_widest_disk_seen(*device_, method, scan);
}

// Corrections larger than the distance of the axis to the edge, in both directions: separated lines are in
// the place of the joined ones.
TEST_P(FbpOnOpenCl, TheAxisMayBeCorrectedByMoreThanIsSeenTwice) {
  for (const auto& [axis, correction] : {std::pair{4.0, 12.0}, {48.0, -12.0}, {44.0, 8.0}}) {
    const auto reconstruct = [&, axis = axis, correction = correction](FbpMethod method) {
      FbpOptions options;
      options.method = method;
      options.batch = 8;
      options.half = true;
      options.axis = axis;
      Reconstructor reconstructor(*device_, {1, 36, kColumns}, options,
                                  {angles_of_pattern("full_turn", 36), std::vector<double>(36, correction)});
      reconstructor.set_up();
      DeviceArray sinograms = create_with<float>(*device_, "sinograms", reconstructor.sinograms_shape(),
                                                 seeded_generator<float>(1));
      DeviceArray slices = create_uninitialised(*device_, "slices", reconstructor.slices_shape(), DType::f32);
      reconstructor(sinograms, slices);
      return slices.read<float>();
    };
    const std::vector<float> whole = reconstruct(FbpMethod::whole);
    const std::vector<float> inplace = reconstruct(FbpMethod::inplace);
    double largest = 0;
    double difference = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      largest = std::max<double>(largest, std::abs(whole[i]));
      difference = std::max<double>(difference, std::abs(whole[i] - inplace[i]));
    }
    EXPECT_GT(largest, 0);
    EXPECT_LE(difference, 1e-5 * largest) << axis << " " << correction;
  }
}

INSTANTIATE_TEST_SUITE_P(Grains, FbpOnOpenCl,
                         testing::Values(testing_variants::Grain::cpu, testing_variants::Grain::gpu),
                         testing_variants::name_of_grain);

}  // namespace
}  // namespace peakmark
