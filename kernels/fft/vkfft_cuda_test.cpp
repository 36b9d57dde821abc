// Tests VkFFT's plans on CUDA without a GPU: driver and compiler are fake_cuda.cpp, and the device is host
// memory. On a GPU, fft_cuda_test.cpp tests that the programs compile, and their results.
#include <gtest/gtest.h>

#include "kernels/common/variant_testing.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/fft/fft_bytes.hpp"

extern "C" int fake_nvrtc_compilations;  // of fake_cuda.cpp

namespace peakmark {
namespace {

void expect_written(const FftPlan& plan) {
  const testing_variants::TestDevice device = testing_variants::open_host_memory();
  const auto fft = make_real_fft(*device, FftLibrary::vkfft, plan);
  ASSERT_EQ(fft->table_bytes(), vkfft_table_bytes(plan.length)) << plan.length << " " << plan.lines;
  ASSERT_EQ(fft->work_bytes(), vkfft_work_bytes(plan)) << plan.length << " " << plan.lines;
}

TEST(VkfftOnCuda, PlansHoldWhatIsWrittenDown) {
  for (Size length = 4; length <= kLongestVkfftTable; length = next_fft_length(length + 1)) {
    expect_written({.length = length, .lines = 6});
    expect_written({.length = length, .lines = 6, .in_place = false, .max_work_bytes = 100'000});
  }
}

TEST(VkfftOnCuda, WhatTheyHoldDoesNotDependOnTheLines) {
  for (const bool in_place : {true, false}) {
    for (const Size length : {4, 60, 1024, 2048, 4096})
      for (const Size lines : {1, 2, 3, 64, 1001, 43'200})
        expect_written({.length = length, .lines = lines, .in_place = in_place});
    // In several passes, with work memory for each line.
    for (const Size length : {8640, 32'768})
      for (const Size lines : {1, 2, 3, 64})
        expect_written({.length = length, .lines = lines, .in_place = in_place});
  }
}

TEST(VkfftOnCuda, ASecondPlanOfALengthCompilesNothing) {
  const testing_variants::TestDevice device = testing_variants::open_host_memory();
  for (const FftPlan& plan : {FftPlan{.length = 420, .lines = 4}, FftPlan{.length = 8640, .lines = 3},
                              FftPlan{.length = 8640, .lines = 3, .in_place = false}}) {
    const int before = fake_nvrtc_compilations;
    const auto first = make_real_fft(*device, FftLibrary::vkfft, plan);
    const int compiled = fake_nvrtc_compilations;
    EXPECT_GT(compiled, before) << plan.length;
    const auto second = make_real_fft(*device, FftLibrary::vkfft, plan);
    EXPECT_EQ(fake_nvrtc_compilations, compiled) << plan.length;
    EXPECT_EQ(second->table_bytes(), first->table_bytes());
    EXPECT_EQ(second->work_bytes(), first->work_bytes());
  }
}

}  // namespace
}  // namespace peakmark
