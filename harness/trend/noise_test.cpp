#include "trend/noise.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

namespace peakmark::trend {
namespace {

Noise noise_of(const std::vector<double>& values) {
  std::vector<double> scratch(values.size());
  return estimate_noise(values, scratch);
}

TEST(Noise, MedianIsNumpys) {
  std::vector<double> odd{5, 1, 3};
  EXPECT_EQ(median_in_place(odd), 3);
  std::vector<double> even{4, 1, 3, 2};
  EXPECT_EQ(median_in_place(even), 2.5);
  std::vector<double> one{7};
  EXPECT_EQ(median_in_place(one), 7);
}

TEST(Noise, OfAConstantIsTheLeast) {
  const Noise noise = noise_of(std::vector<double>(30, 12.5));
  EXPECT_EQ(noise.centre, 12.5);
  EXPECT_EQ(noise.spread, kMinSpread);
  EXPECT_EQ(noise.persistence, 0);
}

TEST(Noise, ClipsWhatLiesOutside) {
  // Quantiles of a normal distribution at (i + 1/2) / 40 times 0.03: its standard deviation, whatever one
  // night does.
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) {
    double low = -5;
    double high = 5;
    for (int step = 0; step < 60; ++step) {
      const double middle = (low + high) / 2;
      (std::erfc(-middle / M_SQRT2) / 2 < (i + 0.5) / 40 ? low : high) = middle;
    }
    values.push_back(0.03 * low * (i % 2 == 0 ? 1 : -1));
  }
  EXPECT_NEAR(noise_of(values).spread, 0.03, 0.002);
  values[7] = 40;
  EXPECT_NEAR(noise_of(values).spread, 0.03, 0.003);
}

TEST(Noise, NeighboursThatAreAlikeArePersistent) {
  std::vector<double> blocks;
  for (int i = 0; i < 60; ++i) blocks.push_back(i / 10 % 2 == 0 ? 1.0 : 2.0);
  EXPECT_GT(noise_of(blocks).persistence, 0.7);
  std::vector<double> turns;
  for (int i = 0; i < 60; ++i) turns.push_back(i % 2 == 0 ? 1.0 : 2.0);
  EXPECT_EQ(noise_of(turns).persistence, 0);
}

TEST(Noise, VarianceOfMeanIsThatOfTheSumOfCovariances) {
  EXPECT_DOUBLE_EQ(variance_of_mean(4, 0), 0.25);
  EXPECT_DOUBLE_EQ(variance_of_mean(1, 0.9), 1);
  for (const double persistence : {0.3, 0.8}) {
    double sum = 0;
    for (int i = 0; i < 9; ++i) {
      for (int j = 0; j < 9; ++j) sum += std::pow(persistence, std::abs(i - j));
    }
    EXPECT_NEAR(variance_of_mean(9, persistence), sum / 81, 1e-12);
  }
}

}  // namespace
}  // namespace peakmark::trend
