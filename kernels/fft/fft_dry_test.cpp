#include "kernels/common/variant_testing.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/fft/fft_bytes.hpp"

namespace peakmark {
namespace {

TEST(FftOnDry, TheWrittenTableIsWhatTheLibraryAsksFor) {
  const testing_variants::TestDevice device = testing_variants::open_dry();
  for (Size length = 4; length <= kLongestVkfftTable; length = next_fft_length(length + 1)) {
    const FftPlan plan{.length = length, .lines = 6};
    const auto fft = make_real_fft(*device, FftLibrary::vkfft, plan);
    ASSERT_EQ(fft->table_bytes(), vkfft_table_bytes(length)) << length;
    ASSERT_EQ(fft->work_bytes(), vkfft_work_bytes(plan)) << length;
    ASSERT_EQ(device.harness().used_bytes(), fft->table_bytes() + fft->work_bytes()) << length;
  }
  EXPECT_EQ(device.harness().used_bytes(), 0);
}

TEST(FftOnDry, TablesDoNotDependOnTheLines) {
  const testing_variants::TestDevice device = testing_variants::open_dry();
  for (const Size length : {4, 60, 1024, 8640, 32'768})
    for (const Size lines : {1, 2, 3, 64, 1001, 43'200})
      for (const bool in_place : {true, false}) {
        const FftPlan plan{.length = length, .lines = lines, .in_place = in_place, .max_work_bytes = 100'000};
        const auto fft = make_real_fft(*device, FftLibrary::vkfft, plan);
        EXPECT_EQ(fft->table_bytes(), vkfft_table_bytes(length)) << length << " " << lines;
        EXPECT_EQ(fft->work_bytes(), vkfft_work_bytes(plan)) << length << " " << lines;
      }
}

TEST(FftOnDry, APlanBeyondTheBudgetIsOutOfMemory) {
  const testing_variants::TestDevice device = testing_variants::open_dry(testing_variants::Grain::gpu, 5000);
  EXPECT_THROW(make_real_fft(*device, FftLibrary::vkfft, {.length = 1024}), OutOfMemory);
  EXPECT_EQ(device.harness().used_bytes(), 0);
}

TEST(FftOnDry, CufftIsUnsupported) {
  const testing_variants::TestDevice device = testing_variants::open_dry();
  EXPECT_THROW(check_fft(*device, FftLibrary::cufft, 1024), Unsupported);
  EXPECT_NO_THROW(check_fft(*device, FftLibrary::vkfft, 1024));
  for (const std::string& name : fft_names()) EXPECT_EQ(to_string(parse_fft_library(name)), name);
  EXPECT_THROW(parse_fft_library("fftw"), UsageError);
}

}  // namespace
}  // namespace peakmark
