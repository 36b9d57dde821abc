// Tests the use of cuFFT without a GPU: the library is fake_cufft.cpp, and the device is host memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/fft/fake_cufft.hpp"
#include "kernels/fft/fft_bytes.hpp"
#include "kernels/fft/fft_testing.hpp"

namespace peakmark {
namespace {

constexpr int kAllocFailed = 2;    // CUFFT_ALLOC_FAILED
constexpr int kInternalError = 5;  // CUFFT_INTERNAL_ERROR
constexpr int kInvalidSize = 8;    // CUFFT_INVALID_SIZE

/// Returns the bytes of the spectra of `lines` lines.
std::size_t spectra(long long length, long long lines) {
  return static_cast<std::size_t>(lines * (length / 2 + 1) * 8);
}

class Cufft : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(fake_cufft::live_plans(), 0U);
    fake_cufft::set_wants(nothing);
    fake_cufft::set_answer(0);
  }
  static std::size_t nothing(long long, long long) { return 0; }

  Size work_bytes(const FftPlan& plan, Size first = 0) {
    return testing_fft::expect_right(*device_, FftLibrary::cufft, plan, first)->work_bytes();
  }
  testing_variants::TestDevice device_ = testing_variants::open_host_memory();
};

TEST_F(Cufft, IsTheHostsTransform) {
  for (const Size length : {4, 12, 420}) {
    work_bytes({.length = length, .lines = 4});
    work_bytes({.length = length, .lines = 3, .array_lines = 5}, 2);
    work_bytes({.length = length, .lines = 3, .array_lines = 5, .in_place = false}, 1);
  }
}

TEST_F(Cufft, TheWorkAreaIsWhatIsWrittenDownWhateverAPlanWants) {
  for (const fake_cufft::Wants wants : {&nothing, &spectra}) {
    fake_cufft::set_wants(wants);
    for (const bool in_place : {true, false}) {
      const FftPlan plan{.length = 60, .lines = 7, .in_place = in_place};
      EXPECT_EQ(work_bytes(plan), 7 * 31 * 8);
      EXPECT_EQ(cufft_work_bytes(plan), 7 * 31 * 8);
    }
  }
}

TEST_F(Cufft, WhereAPlanWantsMoreFewerLinesAreDoneAtATime) {
  fake_cufft::set_wants([](long long length, long long lines) { return 3 * spectra(length, lines); });
  for (const Size lines : {3, 6, 7, 20})
    for (const bool in_place : {true, false}) {
      const FftPlan plan{.length = 60, .lines = lines, .array_lines = 21, .in_place = in_place};
      EXPECT_EQ(work_bytes(plan, 1), cufft_work_bytes(plan)) << lines;
    }
  // A single line must get all memory that it needs.
  EXPECT_EQ(work_bytes({.length = 60, .lines = 2}), 3 * 31 * 8);
}

TEST_F(Cufft, StaysWithinTheMemoryItMay) {
  fake_cufft::set_wants(spectra);
  EXPECT_EQ(work_bytes({.length = 60, .lines = 7, .in_place = false, .max_work_bytes = 3 * 31 * 8 + 100}),
            3 * 31 * 8);
  EXPECT_EQ(work_bytes({.length = 60, .lines = 2, .in_place = false, .max_work_bytes = 1}), 31 * 8);
  // Few lines need more than in proportion, so the number is halved until it fits.
  fake_cufft::set_wants([](long long length, long long lines) { return spectra(length, lines) + 800; });
  EXPECT_EQ(work_bytes({.length = 60, .lines = 16}), 16 * 31 * 8);
}

TEST_F(Cufft, ErrorsKeepTheirKind) {
  const auto make = [&] { make_real_fft(*device_, FftLibrary::cufft, {.length = 60, .lines = 2}); };
  fake_cufft::set_answer(kInvalidSize);
  EXPECT_THROW(make(), Unsupported);
  fake_cufft::set_answer(kAllocFailed);
  EXPECT_THROW(make(), OutOfMemory);
  fake_cufft::set_answer(kInternalError);
  EXPECT_THAT(make, testing::Throws<Error>(testing::Property(
                        &std::exception::what, testing::HasSubstr("make a plan at length 60 (its code 5)"))));
}

}  // namespace
}  // namespace peakmark
