#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/fft/fft_bytes.hpp"
#include "kernels/fft/fft_testing.hpp"

namespace peakmark {
namespace {

class FftOnCuda : public testing::TestWithParam<FftLibrary> {
 protected:
  void expect_right(const FftPlan& plan, Size first = 0) {
    const auto fft = testing_fft::expect_right(*device_, GetParam(), plan, first);
    if (GetParam() != FftLibrary::vkfft) return;
    EXPECT_EQ(fft->work_bytes(), vkfft_work_bytes(plan)) << plan.length;
    EXPECT_EQ(fft->table_bytes(), vkfft_table_bytes(plan.length)) << plan.length;
  }

  std::unique_ptr<Device> device_ =
      open_device(choose_device({.backend = Backend::cuda, .device = {}}, list_devices()));
};

TEST_P(FftOnCuda, IsTheHostsTransform) {
  for (const Size length : {4, 12, 420, 4096, 8192, 8640, 32'768}) {
    expect_right({.length = length, .lines = 4});
    expect_right({.length = length, .lines = 3, .array_lines = 5}, 2);
    expect_right({.length = length, .lines = 3, .array_lines = 5, .in_place = false}, 1);
  }
}

TEST_P(FftOnCuda, WorksInTheMemoryItMay) {
  expect_right({.length = 32'768, .lines = 5, .in_place = false, .most_work_bytes = 300'000});
  expect_right({.length = 32'768, .lines = 2, .in_place = false, .most_work_bytes = 1});
}

INSTANTIATE_TEST_SUITE_P(Libraries, FftOnCuda, testing::Values(FftLibrary::vkfft, FftLibrary::cufft),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace peakmark
