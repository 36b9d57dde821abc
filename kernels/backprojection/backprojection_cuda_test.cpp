#include <gmock/gmock.h>

#include "kernels/backprojection/backprojector.hpp"
#include "kernels/backprojection/numpy_vectors.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/operations.hpp"

namespace peakmark {
namespace {

using std::string;
using testing_variants::expect_right;

class BackprojectionOnCuda : public testing::Test {
 protected:
  testing_variants::TestVariants variants_{add_backprojection};
  testing_variants::TestDevice device_ = testing_variants::open_cuda();
};

TEST_F(BackprojectionOnCuda, EqualsNumpy) {
  for (const BackprojectionMethod method : {BackprojectionMethod::linear, BackprojectionMethod::tiled})
    for (const NumpyBackprojection& c : numpy_backprojections()) {
      const std::vector<float> sinogram(c.sinogram.begin(), c.sinogram.end());
      const auto backprojector = make_backprojector(method, *device_, c.geometry, DType::f32);
      const DeviceArray sinograms = create_with<float>(*device_, "sinograms", c.geometry.sinogram_shape(),
                                                       std::span<const float>(sinogram));
      DeviceArray slices =
          create_uninitialised(*device_, "slices", backprojector->frame().slice_shape(), DType::f32);
      (*backprojector)(sinograms, slices);
      const std::vector<float> slice = slices.read<float>();
      for (std::size_t i = 0; i < slice.size(); ++i)
        EXPECT_NEAR(slice[i], c.slice[i], 1e-5)
            << to_string(method) << ", pixel " << i << ", w " << c.geometry.w;
    }
}

TEST_F(BackprojectionOnCuda, VariantsAreRightForAnyScan) {
  for (const testing_variants::TestVariant& variant : variants_)
    for (const string& angles : angle_patterns())
      for (const string& correction : correction_patterns())
        for (const Size half : {0, 1})
          for (const char* axis : {"centre", "13.3%", "100%"})
            expect_right(device_, variant,
                         {{"n_a", Size{32}},
                          {"w", Size{72}},
                          {"n_z", Size{3}},
                          {"angles", angles},
                          {"correction", correction},
                          {"half", half},
                          {"rotation_axis", string(axis)},
                          {"clip", half}});
}

TEST_F(BackprojectionOnCuda, VariantsAreRightInARegionOfAWideSlice) {
  for (const testing_variants::TestVariant& variant : variants_)
    expect_right(device_, variant,
                 {{"n_a", Size{1024}},
                  {"w", Size{16384}},
                  {"n_z", Size{2}},
                  {"roi_y0", Size{8001}},
                  {"roi_x0", Size{37}},
                  {"roi_h", Size{33}},
                  {"roi_w", Size{16001}}});
}

}  // namespace
}  // namespace peakmark
