#include "kernels/fft/host_fft.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <random>

#include "base/error.hpp"
#include "kernels/fft/fft_bytes.hpp"

namespace peakmark {
namespace {

using Complex = std::complex<double>;

std::vector<Complex> noise(std::size_t n) {
  std::mt19937_64 random(n);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<Complex> values(n);
  for (Complex& at : values) at = {value(random), value(random)};
  return values;
}

TEST(HostFft, IsTheSumThatDefinesIt) {
  for (const std::size_t n : {1, 2, 3, 4, 5, 6, 7, 12, 17, 30, 35, 64, 105, 121, 210, 256}) {
    const std::vector<Complex> values = noise(n);
    for (const bool backward : {false, true}) {
      const std::vector<Complex> result = host_fft(values, backward);
      for (std::size_t k = 0; k < n; ++k) {
        Complex sum = 0;
        for (std::size_t j = 0; j < n; ++j)
          sum += values[j] * std::polar(1.0, (backward ? 2 : -2) * std::numbers::pi *
                                                 static_cast<double>(j * k % n) / static_cast<double>(n));
        EXPECT_LE(std::abs(result[k] - sum), 1e-12) << n << " " << k;
      }
    }
  }
}

TEST(HostFft, ThereAndBackIsTheInput) {
  for (const std::size_t n : {4096, 8640, 9973}) {
    const std::vector<Complex> values = noise(n);
    const std::vector<Complex> back = host_fft(host_fft(values), true);
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_LE(std::abs(back[i] / static_cast<double>(n) - values[i]), 1e-12) << n << " " << i;
  }
}

TEST(HostFft, TransformsManyOfOneLengthAndNoOther) {
  const HostFft transform(210);
  for (const bool backward : {false, true})
    EXPECT_EQ(transform(noise(210), backward), host_fft(noise(210), backward));
  EXPECT_THROW(static_cast<void>(transform(noise(105))), UsageError);
}

TEST(FftLength, IsTheNextMultipleOfFourWithoutLargePrimes) {
  for (const auto& [least, length] : {std::pair<Size, Size>{1, 4},
                                      {4, 4},
                                      {5, 8},
                                      {34, 36},
                                      {37, 40},
                                      {44, 48},
                                      {422, 432},
                                      {4096, 4096},
                                      {4097, 4116},
                                      {8200, 8232}})
    EXPECT_EQ(next_fft_length(least), length) << least;
  for (Size least = 1; least < 5000; ++least) {
    Size length = (least + 3) / 4 * 4;
    while (!is_seven_smooth(length)) length += 4;
    EXPECT_EQ(next_fft_length(least), length) << least;
  }
  EXPECT_TRUE(is_seven_smooth(1));
  EXPECT_TRUE(is_seven_smooth(210));
  EXPECT_FALSE(is_seven_smooth(22));
}

// For large lengths, two such lengths are 10^8 and more apart.
TEST(FftLength, IsFoundAtOnceHoweverLong) {
  EXPECT_EQ(next_fft_length(20'000'000'000'002), 20'003'760'000'000);
  EXPECT_EQ(next_fft_length(2'000'000'000'000'002), 2'000'376'000'000'000);
  EXPECT_EQ(next_fft_length(2'305'843'009'213'693'953), 2'305'920'400'000'000'000);
  EXPECT_EQ(next_fft_length(Size{1} << 62), Size{1} << 62);
  EXPECT_THROW(next_fft_length(std::numeric_limits<Size>::max()), OverflowError);
}

}  // namespace
}  // namespace peakmark
