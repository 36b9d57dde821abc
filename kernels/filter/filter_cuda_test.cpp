#include <gmock/gmock.h>

#include "kernels/common/variant_testing.hpp"
#include "kernels/filter/filter_testing.hpp"
#include "kernels/operations.hpp"

namespace peakmark {
namespace {

using testing_variants::expect_right;

class FilterOnCuda : public testing::TestWithParam<FftLibrary> {
 protected:
  const testing_variants::TestVariant& whole() { return variants_.find("filter/whole"); }
  const testing_variants::TestVariant& inplace() { return variants_.find("filter/inplace"); }
  std::string fft() { return std::string(to_string(GetParam())); }
  testing_variants::TestVariants variants_{add_filter};
  testing_variants::TestDevice device_ = testing_variants::open_cuda();
};

TEST_P(FilterOnCuda, IsNumpys) {
  for (const NumpyFilter& vector : numpy_filters())
    testing_filter::expect_numpys(*device_, vector, GetParam());
}

TEST_P(FilterOnCuda, EveryFilterAndModeIsRight) {
  for (const std::string& filter : filter_names()) {
    expect_right(device_, whole(), {{"n_z", 2}, {"n_a", 33}, {"w", 211}, {"fft", fft()}, {"filter", filter}});
    expect_right(device_, inplace(),
                 {{"n_z", 2}, {"n_a", 33}, {"w", 211}, {"fft", fft()}, {"filter", filter}, {"batch", 8}});
  }
  for (const std::string& mode : filter_padding_names()) {
    expect_right(device_, whole(), {{"n_z", 2}, {"n_a", 33}, {"w", 211}, {"fft", fft()}, {"mode", mode}});
    expect_right(device_, inplace(),
                 {{"n_z", 2}, {"n_a", 33}, {"w", 211}, {"fft", fft()}, {"mode", mode}, {"batch", 8}});
  }
}

TEST_P(FilterOnCuda, BatchesOfAnySizeAreRight) {
  for (const Size batch : {1, 7, 8, 32, 33})
    expect_right(device_, inplace(), {{"n_z", 3}, {"n_a", 33}, {"w", 211}, {"fft", fft()}, {"batch", batch}});
}

TEST_P(FilterOnCuda, LongLinesAreRight) {
  for (const Size w : {4200, 16'384}) {
    expect_right(device_, whole(), {{"n_z", 2}, {"n_a", 101}, {"w", w}, {"fft", fft()}});
    expect_right(device_, inplace(), {{"n_z", 2}, {"n_a", 401}, {"w", w}, {"fft", fft()}, {"mode", "edge"}});
  }
}

INSTANTIATE_TEST_SUITE_P(Libraries, FilterOnCuda, testing::Values(FftLibrary::vkfft, FftLibrary::cufft),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace peakmark
