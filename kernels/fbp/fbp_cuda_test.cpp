#include <gmock/gmock.h>

#include "kernels/common/variant_testing.hpp"
#include "kernels/fbp/fbp_testing.hpp"
#include "kernels/operations.hpp"

namespace peakmark {
namespace {

using std::string;

class FbpOnCuda : public testing::Test {
 protected:
  testing_variants::TestVariants variants_{add_fbp};
  testing_variants::TestDevice device_ = testing_variants::open_cuda();
};

TEST_F(FbpOnCuda, PhantomsAreSeenWhereTheyAre) {
  for (const FbpMethod method : {FbpMethod::whole, FbpMethod::inplace, FbpMethod::kept})
    for (const fbp_testing::Scan& scan : fbp_testing::scans())
      fbp_testing::expect_phantoms_seen(*device_, method, scan);
  for (const FbpMethod method : {FbpMethod::whole, FbpMethod::inplace})
    for (const fbp_testing::Scan& scan : fbp_testing::outward_scans())
      fbp_testing::expect_widest_disk_seen(*device_, method, scan);
}

TEST_F(FbpOnCuda, EveryModeIsRightByEitherLibrary) {
  for (const testing_variants::TestVariant& variant : variants_)
    for (const string& fft : fft_names())
      for (const string& mode : filter_padding_names())
        testing_variants::expect_right(
            device_, variant,
            {{"n_a", Size{500}}, {"w", Size{211}}, {"n_z", Size{3}}, {"fft", fft}, {"mode", mode}});
}

TEST_F(FbpOnCuda, AChunkedStackIsItsSlices) {
  for (const fbp_testing::ChunkedScan& scan : fbp_testing::chunked_scans()) {
    // With an odd number of lines, `whole` filters one line together with a line of another sinogram. There
    // are half as many joined lines.
    for (const FbpMethod method : {FbpMethod::inplace, FbpMethod::kept})
      fbp_testing::expect_chunks_are_slices(*device_, method, scan.half ? 38 : 37, scan);
    fbp_testing::expect_chunks_are_slices(*device_, FbpMethod::whole, 36, scan);
  }
}

}  // namespace
}  // namespace peakmark
