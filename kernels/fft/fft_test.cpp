#include "kernels/fft/fft.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/common/variant_testing.hpp"
#include "kernels/fft/fft_bytes.hpp"
#include "kernels/fft/fft_testing.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

class Fft : public testing::Test {
 protected:
  void expect_right(const FftPlan& plan, Size first = 0) {
    const auto fft = testing_fft::expect_right(*device_, FftLibrary::vkfft, plan, first);
    EXPECT_EQ(fft->table_bytes(), vkfft_table_bytes(plan.length)) << plan.length;
    EXPECT_EQ(fft->work_bytes(), vkfft_work_bytes(plan)) << plan.length;
  }

  testing_variants::TestDevice device_ = testing_variants::open_tested(testing_variants::Grain::cpu);
};

TEST_F(Fft, InPlaceIsTheHostsTransform) {
  expect_right({.length = 4, .lines = 3});
  expect_right({.length = 420, .lines = 4});
  expect_right({.length = 420, .lines = 3, .array_lines = 5}, 2);
}

TEST_F(Fft, BetweenTwoArraysIsTheHostsTransform) {
  expect_right({.length = 420, .lines = 5, .in_place = false});
  expect_right({.length = 420, .lines = 3, .array_lines = 7, .in_place = false}, 1);
}

TEST_F(Fft, InSeveralPassesIsTheHostsTransform) {
  expect_right({.length = 8640, .lines = 2, .array_lines = 5}, 3);
  expect_right({.length = 8640, .lines = 3, .array_lines = 4, .in_place = false}, 1);
}

TEST_F(Fft, WorksInTheMemoryItMay) {
  // Work area for two lines at a time: the third call transforms line 3 again.
  expect_right({.length = 8640, .lines = 5, .in_place = false, .max_work_bytes = 80'000});
  expect_right({.length = 8640, .lines = 2, .in_place = false, .max_work_bytes = 1});
}

TEST_F(Fft, ASecondPlanOfALengthCompilesNothing) {
  const auto compilations = [&] { return device_.harness().cached_objects_made(); };
  for (const bool in_place : {true, false}) {
    const std::size_t before = compilations();
    expect_right({.length = 8640, .lines = 2, .in_place = in_place});
    const std::size_t compiled = compilations();
    EXPECT_GT(compiled, before);
    expect_right({.length = 8640, .lines = 2, .in_place = in_place});
    EXPECT_EQ(compilations(), compiled);
  }
}

TEST_F(Fft, APlanOutlivesAnotherThatSharesItsPrograms) {
  const FftPlan plan{.length = 420, .lines = 3};
  const auto kept = make_real_fft(*device_, FftLibrary::vkfft, plan);
  expect_right(plan);
  DeviceArray lines = create_with<float>(*device_, "lines", {3, 422}, seeded_generator<float>(1));
  const std::vector<float> before = lines.read<float>();
  kept->forward(lines, 0);
  kept->backward(lines, 0);
  const std::vector<float> after = lines.read<float>();
  for (Size line = 0; line < 3; ++line)
    for (Size i = line * 422; i < line * 422 + 420; ++i) ASSERT_NEAR(after[i] / 420, before[i], 2e-6) << i;
}

TEST_F(Fft, TheTablesAreThoseThatWereRecorded) {
  // From a recorder of bytes, with plans of another program.
  for (const auto& [length, bytes] : {std::pair<Size, Size>{1024, 5824}, {1500, 11'960}, {4096, 14'016}})
    EXPECT_EQ(vkfft_table_bytes(length), bytes) << length;
}

TEST_F(Fft, ReportsWhatItCannotDo) {
  const auto message = [&](FftLibrary library, Size length) -> std::string {
    try {
      make_real_fft(*device_, library, {.length = length});
    } catch (const Unsupported& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_THAT(message(FftLibrary::vkfft, 9973), HasSubstr("length 9973; peakmark transforms even lengths"));
  EXPECT_THAT(message(FftLibrary::vkfft, 22), HasSubstr("without prime factors beyond 7"));
  EXPECT_THAT(message(FftLibrary::vkfft, 525), HasSubstr("even lengths"));
  EXPECT_THAT(message(FftLibrary::vkfft, 524'288), HasSubstr("beyond 262144"));
}

}  // namespace
}  // namespace peakmark
