#include "statistics/shift.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include "base/error.hpp"
#include "statistics/rank_vectors.hpp"

namespace peakmark {
namespace {

using testing::Eq;
using testing::Gt;

TEST(Shift, AgreesWithScipy) {
  int intervals = 0;
  for (const RankVector& vector : rank_vectors()) {
    const Shift shift = hodges_lehmann(vector.first, vector.second);
    EXPECT_NEAR(shift.estimate, vector.shift, 1e-9);
    if (!vector.interval) continue;
    ++intervals;
    ASSERT_TRUE(shift.interval.has_value());
    EXPECT_NEAR(shift.interval->low, vector.interval->low, 1e-9);
    EXPECT_NEAR(shift.interval->high, vector.interval->high, 1e-9);
  }
  EXPECT_THAT(intervals, Gt(20));
}

TEST(Shift, HasNoIntervalWhereNothingCanBeRefused) {
  const std::vector<double> three{1, 2, 3};
  const std::vector<double> four{1, 2, 3, 4};
  EXPECT_THAT(hodges_lehmann(three, three).interval, Eq(std::nullopt));
  EXPECT_TRUE(hodges_lehmann(four, four).interval.has_value());
}

TEST(Shift, OfEqualValuesIsCertain) {
  const std::vector<double> nine(9, 5.0);
  EXPECT_THAT(hodges_lehmann(nine, nine).interval, Eq(Interval{0, 0}));
}

// The shift of values with ties, covered by the interval in at least 95 % of 600 draws.
TEST(Shift, CoversWhatItSays) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, 3);
  int covered = 0;
  for (int draw = 0; draw < 600; ++draw) {
    std::vector<double> base;
    std::vector<double> next;
    for (int i = 0; i < 9; ++i) {
      base.push_back(std::round(normal(random)));
      next.push_back(std::round(normal(random)) + 2);
    }
    const Interval interval = *hodges_lehmann(base, next).interval;
    covered += interval.low <= 2 && 2 <= interval.high ? 1 : 0;
  }
  EXPECT_THAT(covered, Gt(570));
}

TEST(Shift, RefusesEmptySamplesAndWhatHasNoOrder) {
  const std::vector<double> good{1, 2};
  EXPECT_THROW(hodges_lehmann({}, good), std::invalid_argument);
  EXPECT_THROW(hodges_lehmann(good, std::vector<double>{std::numeric_limits<double>::quiet_NaN()}),
               std::invalid_argument);
  EXPECT_THROW(hodges_lehmann(std::vector<double>(5000), std::vector<double>(5000)), UsageError);
}

}  // namespace
}  // namespace peakmark
