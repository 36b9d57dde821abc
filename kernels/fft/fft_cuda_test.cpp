#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/common/variant_testing.hpp"
#include "kernels/fft/fft_bytes.hpp"
#include "kernels/fft/fft_testing.hpp"

namespace peakmark {
namespace {

class FftOnCuda : public testing::TestWithParam<FftLibrary> {
 protected:
  void expect_right(const FftPlan& plan, Size first = 0) {
    const auto fft = testing_fft::expect_right(*device_, GetParam(), plan, first);
    EXPECT_EQ(fft->table_bytes() + fft->work_bytes(), written_bytes(plan)) << plan.length;
  }

  static Size written_bytes(const FftPlan& plan) {
    Size bytes = 0;
    for (const Part& term : fft_parts(GetParam(), plan)) bytes += term.fixed_bytes;
    return bytes;
  }

  testing_variants::TestDevice device_ = testing_variants::open_cuda();
};

TEST_P(FftOnCuda, IsTheHostsTransform) {
  for (const Size length : {4, 12, 420, 4096, 8192, 8640, 32'768}) {
    expect_right({.length = length, .lines = 4});
    expect_right({.length = length, .lines = 3, .array_lines = 5}, 2);
    expect_right({.length = length, .lines = 3, .array_lines = 5, .in_place = false}, 1);
  }
}

TEST_P(FftOnCuda, WorksInTheMemoryItMay) {
  expect_right({.length = 32'768, .lines = 5, .in_place = false, .max_work_bytes = 300'000});
  expect_right({.length = 32'768, .lines = 2, .in_place = false, .max_work_bytes = 1});
}

// All lengths to which lines of up to 65,536 pixels are padded; for VkFFT, which compiles each, only a few.
TEST_P(FftOnCuda, PlansHoldWhatIsWrittenDown) {
  int lengths = 0;
  for (Size length = 4; length <= 131'072; length = next_fft_length(length + 1)) {
    if (GetParam() == FftLibrary::vkfft && lengths++ % 30 != 0) continue;
    const FftPlan plan{.length = length, .lines = 2};
    const auto fft = make_real_fft(*device_, GetParam(), plan);
    EXPECT_EQ(fft->table_bytes() + fft->work_bytes(), written_bytes(plan)) << length;
  }
}

INSTANTIATE_TEST_SUITE_P(Libraries, FftOnCuda, testing::Values(FftLibrary::vkfft, FftLibrary::cufft),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace peakmark
