#include "analyse/trend/change_point_detector.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

namespace peakmark::trend {

namespace {

Noise noise_of(const std::vector<double>& values) {
  std::vector<double> scratch(values.size());
  return estimate_noise(values, scratch, States::covered);
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
  // Quantiles of a normal distribution at (i + 1/2) / 40, times 0.03: the standard deviation is 0.03 whatever
  // one day does.
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

// 33 of 60 runs are fast, so the median and its deviation are those of the fast state.
TEST(Noise, TwoStatesThatAlternateAreItsSpread) {
  constexpr double kGap = 0.64;
  std::vector<double> states;
  for (int i = 0; i < 60; ++i) states.push_back((i * 7 % 20 < 11 ? 0 : kGap) + 0.001 * (i * 7 % 11 - 5));
  EXPECT_NEAR(noise_of(states).spread, kGap * std::sqrt(0.55 * 0.45), 0.1 * kGap);
  EXPECT_LT(noise_of(states).persistence, 0.1);
  std::vector<double> scratch(states.size());
  EXPECT_LT(estimate_noise(states, scratch, States::ignored).spread, 0.1 * kGap);
}

TEST(Noise, OneStepIsNotItsSpread) {
  std::vector<double> step;
  for (int i = 0; i < 60; ++i) step.push_back((i < 40 ? 0 : 0.64) + 0.001 * (i * 7 % 11 - 5));
  EXPECT_LT(noise_of(step).spread, 0.02);
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

namespace {

/// Noise without chance: 1 % up and down in a pattern without a trend.
double noise(int day) {
  constexpr double kPattern[]{0.4, -1.2, 0.9, -0.3, 1.3, -0.8, 0.1, -1.0, 0.7, -0.1};
  return 0.01 * kPattern[(day * 7 + day / 10) % 10];
}

ChangePointDetector make_detector(int days) {
  ChangePointDetector detector{DetectorOptions{}};
  for (int day = 0; day < days; ++day) detector.add(noise(day));
  return detector;
}

TEST(ChangePointDetector, ReportsNoChangeWithFewerThanTwentyRuns) {
  EXPECT_FALSE(make_detector(19).scan(5).enough);
  EXPECT_TRUE(make_detector(20).scan(0).enough);
}

TEST(ChangePointDetector, OneRunIsSuspiciousAndTwoAreALevel) {
  ChangePointDetector detector = make_detector(60);
  const Scan first = detector.scan(0.08 + noise(60));
  EXPECT_GT(first.suspicion, 2.6);
  EXPECT_EQ(first.runs, 0u);
  detector.add(0.08 + noise(60));
  const Scan second = detector.scan(0.08 + noise(61));
  EXPECT_GT(second.score, 3.18);
  EXPECT_EQ(second.runs, 2u);
  EXPECT_NEAR(second.before, 0, 0.003);
}

TEST(ChangePointDetector, AnOutlierIsNotALevelInTheNextRun) {
  ChangePointDetector detector = make_detector(60);
  detector.add(3);
  EXPECT_EQ(detector.scan(noise(61)).score, 0);
  detector.add(noise(61));
  EXPECT_LT(detector.scan(noise(62)).suspicion, 2.6);
}

// If days are correlated as in a drift, the mean of a few days that are clipped at 3 spreads means little;
// days with twice the time are a level nevertheless.
TEST(ChangePointDetector, ALargeStepIsALevelEvenIfRunsDrift) {
  ChangePointDetector detector{DetectorOptions{}};
  const auto drift = [](int day) { return 1e-4 * day; };
  for (int day = 0; day < 40; ++day) detector.add(drift(day));
  for (int day = 40; day < 42; ++day) {
    EXPECT_EQ(detector.scan(0.7 + drift(day)).score, 0) << day;
    detector.add(0.7 + drift(day));
  }
  const Scan third = detector.scan(0.7 + drift(42));
  EXPECT_GT(third.score, 3.18);
  EXPECT_EQ(third.runs, 3u);
  EXPECT_EQ(detector.scan(drift(42)).score, 0) << "two of three runs";
}

TEST(ChangePointDetector, AStepBelowTheLeastEffectIsNoNews) {
  ChangePointDetector detector = make_detector(60);
  for (int day = 60; day < 90; ++day) {
    EXPECT_EQ(detector.scan(0.015 + noise(day)).score, 0) << day;
    detector.add(0.015 + noise(day));
  }
}

TEST(ChangePointDetector, AConstantSeriesHasNumbersAllTheWay) {
  ChangePointDetector detector{DetectorOptions{}};
  for (int day = 0; day < 40; ++day) detector.add(2);
  const Scan same = detector.scan(2);
  EXPECT_EQ(same.score, 0);
  EXPECT_EQ(same.suspicion, 0);
  detector.add(2.5);
  const Scan step = detector.scan(2.5);
  EXPECT_TRUE(std::isfinite(step.score));
  EXPECT_GT(step.score, 3.18);
}

TEST(ChangePointDetector, ASecondStepIsNotMaskedByTheFirst) {
  ChangePointDetector detector = make_detector(60);
  for (int day = 60; day < 64; ++day) detector.add(0.10 + noise(day));
  detector.begin_level(4);
  for (int day = 64; day < 68; ++day) {
    EXPECT_EQ(detector.scan(0.10 + noise(day)).score, 0) << day;
    detector.add(0.10 + noise(day));
  }
  detector.add(0.20 + noise(68));
  detector.add(0.20 + noise(69));
  EXPECT_GT(detector.scan(0.20 + noise(70)).score, 3.18);
}

TEST(ChangePointDetector, FasterIsReportedLater) {
  ChangePointDetector detector = make_detector(60);
  for (int day = 60; day < 64; ++day) detector.add(-0.06 + noise(day));
  EXPECT_LT(detector.scan(-0.06 + noise(64)).score, -4);
}

}  // namespace

}  // namespace peakmark::trend
