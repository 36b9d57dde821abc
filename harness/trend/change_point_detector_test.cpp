#include "trend/change_point_detector.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace peakmark::trend {
namespace {

/// Noise without chance: 1 % up and down in a pattern without a trend.
double noise(int night) {
  constexpr double kPattern[]{0.4, -1.2, 0.9, -0.3, 1.3, -0.8, 0.1, -1.0, 0.7, -0.1};
  return 0.01 * kPattern[(night * 7 + night / 10) % 10];
}

ChangePointDetector watch_of(int nights) {
  ChangePointDetector watch{WatchOptions{}};
  for (int night = 0; night < nights; ++night) watch.add(noise(night));
  return watch;
}

TEST(ChangePointDetector, SaysNothingBelowTwentyNights) {
  EXPECT_FALSE(watch_of(19).look(5).enough);
  EXPECT_TRUE(watch_of(20).look(0).enough);
}

TEST(ChangePointDetector, OneNightIsSuspiciousAndTwoAreALevel) {
  ChangePointDetector watch = watch_of(60);
  const Look first = watch.look(0.08 + noise(60));
  EXPECT_GT(first.suspicion, 2.6);
  EXPECT_EQ(first.nights, 0u);
  watch.add(0.08 + noise(60));
  const Look second = watch.look(0.08 + noise(61));
  EXPECT_GT(second.score, 3.18);
  EXPECT_EQ(second.nights, 2u);
  EXPECT_NEAR(second.before, 0, 0.003);
}

TEST(ChangePointDetector, AnOutlierIsNoLevelNextNight) {
  ChangePointDetector watch = watch_of(60);
  watch.add(3);
  EXPECT_EQ(watch.look(noise(61)).score, 0);
  watch.add(noise(61));
  EXPECT_LT(watch.look(noise(62)).suspicion, 2.6);
}

// Where nights hang together as in a drift, the mean of a few that count for 3 spreads each says little; one
// that doubled is a level all the same.
TEST(ChangePointDetector, AStepFarOffIsALevelWhereNightsDriftToo) {
  ChangePointDetector watch{WatchOptions{}};
  const auto drift = [](int night) { return 1e-4 * night; };
  for (int night = 0; night < 40; ++night) watch.add(drift(night));
  for (int night = 40; night < 42; ++night) {
    EXPECT_EQ(watch.look(0.7 + drift(night)).score, 0) << night;
    watch.add(0.7 + drift(night));
  }
  const Look third = watch.look(0.7 + drift(42));
  EXPECT_GT(third.score, 3.18);
  EXPECT_EQ(third.nights, 3u);
  EXPECT_EQ(watch.look(drift(42)).score, 0) << "two of three nights";
}

TEST(ChangePointDetector, AStepBelowTheLeastEffectIsNoNews) {
  ChangePointDetector watch = watch_of(60);
  for (int night = 60; night < 90; ++night) {
    EXPECT_EQ(watch.look(0.015 + noise(night)).score, 0) << night;
    watch.add(0.015 + noise(night));
  }
}

TEST(ChangePointDetector, AConstantSeriesHasNumbersAllTheWay) {
  ChangePointDetector watch{WatchOptions{}};
  for (int night = 0; night < 40; ++night) watch.add(2);
  const Look same = watch.look(2);
  EXPECT_EQ(same.score, 0);
  EXPECT_EQ(same.suspicion, 0);
  watch.add(2.5);
  const Look step = watch.look(2.5);
  EXPECT_TRUE(std::isfinite(step.score));
  EXPECT_GT(step.score, 3.18);
}

TEST(ChangePointDetector, ASecondStepIsNotMaskedByTheFirst) {
  ChangePointDetector watch = watch_of(60);
  for (int night = 60; night < 64; ++night) watch.add(0.10 + noise(night));
  watch.begin_level(4);
  for (int night = 64; night < 68; ++night) {
    EXPECT_EQ(watch.look(0.10 + noise(night)).score, 0) << night;
    watch.add(0.10 + noise(night));
  }
  watch.add(0.20 + noise(68));
  watch.add(0.20 + noise(69));
  EXPECT_GT(watch.look(0.20 + noise(70)).score, 3.18);
}

TEST(ChangePointDetector, FasterIsToldLater) {
  ChangePointDetector watch = watch_of(60);
  for (int night = 60; night < 64; ++night) watch.add(-0.06 + noise(night));
  EXPECT_LT(watch.look(-0.06 + noise(64)).score, -4);
}

}  // namespace
}  // namespace peakmark::trend
