#include "measure/statistics/rank_statistics.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "base/error.hpp"

namespace peakmark {

/// Two samples, and the results of scipy for them (make_vectors.py).
struct RankVector {
  std::vector<double> first;
  std::vector<double> second;
  double u;
  double p;
  bool exact;
  double shift;  ///< second − first
  std::optional<Interval> interval;
};

inline const std::vector<RankVector>& rank_vectors() {
  static const std::vector<RankVector> vectors = {
#define RANK_VECTORS
#include "scipy_vectors.inc"
#undef RANK_VECTORS
  };
  return vectors;
}

namespace {

// numpy.quantile([15, 20, 35, 40, 50], q): q = 0.4 gives 29.0, q = 0.25 gives 20.0, q = 0.9 gives 46.0.
TEST(Quantile, InterpolatesAsNumpyDoes) {
  const std::vector<double> values = {50, 15, 40, 20, 35};
  EXPECT_DOUBLE_EQ(quantile(values, 0.4), 29.0);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 20.0);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 46.0);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.5), 7.0);
}

TEST(Centre, AgreesWithScipy) {
  struct Vector {
    std::vector<double> values;
    double median;
  };
  static const Vector vectors[] = {
#define CENTRE_VECTORS
#undef CENTRE_VECTORS
  };
  for (const Vector& vector : vectors) {
    EXPECT_DOUBLE_EQ(median(vector.values), vector.median);
  }
}

TEST(Centre, RefusesWhatHasNoOrder) {
  EXPECT_THROW(median(std::vector<double>{}), std::invalid_argument);
  EXPECT_THROW(median(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()}),
               std::invalid_argument);
  EXPECT_THROW(median(std::vector<double>{std::numeric_limits<double>::infinity()}), std::invalid_argument);
}

}  // namespace

namespace {

using testing::Gt;

std::vector<double> integers(std::size_t size, double from) {
  std::vector<double> values(size);
  std::iota(values.begin(), values.end(), from);
  return values;
}

TEST(RankTest, AgreesWithScipy) {
  for (const RankVector& vector : rank_vectors()) {
    const RankTest test = mann_whitney(vector.first, vector.second);
    EXPECT_EQ(test.u, vector.u);
    EXPECT_EQ(test.exact, vector.exact);
    EXPECT_NEAR(test.p / vector.p, 1, 1e-9);
  }
  EXPECT_THAT(rank_vectors().size(), Gt(40U));
}

TEST(RankTest, IsTheSameFromBothSides) {
  for (const RankVector& vector : rank_vectors()) {
    EXPECT_NEAR(mann_whitney(vector.first, vector.second).p, mann_whitney(vector.second, vector.first).p,
                1e-12);
  }
}

TEST(RankTest, NineASideCanBeSignificantAmongAThousandCasesAndSevenCannot) {
  const double nine = mann_whitney(integers(9, 0), integers(9, 100)).p;
  const double seven = mann_whitney(integers(7, 0), integers(7, 100)).p;
  EXPECT_DOUBLE_EQ(nine, 2.0 / 48620);
  EXPECT_LT(nine * 1000, 0.05);
  EXPECT_DOUBLE_EQ(seven, 2.0 / 3432);
  EXPECT_GT(seven * 1000, 0.05);
}

TEST(RankTest, OfEqualValuesIsNotSignificant) {
  EXPECT_EQ(mann_whitney(std::vector<double>(9, 5.0), std::vector<double>(9, 5.0)).p, 1);
  EXPECT_EQ(mann_whitney(std::vector<double>(300, 5.0), std::vector<double>(300, 5.0)).p, 1);
}

TEST(RankTest, ExactAndApproximateMeet) {
  // Sizes around those at which one method replaces the other.
  for (const double u : {150.0, 250.0}) {
    const double exact = chance_of_u_at_most(u, 25, 25);
    const double deviation = std::sqrt(25 * 25 * 51 / 12.0);
    const double normal = 0.5 * std::erfc((25 * 25 / 2.0 - u - 0.5) / deviation / std::sqrt(2.0));
    EXPECT_NEAR(exact, normal, 0.002);
  }
}

TEST(RankTest, RefusesEmptySamplesAndWhatHasNoOrder) {
  const std::vector<double> good{1, 2};
  EXPECT_THROW(mann_whitney({}, good), std::invalid_argument);
  EXPECT_THROW(mann_whitney(good, std::vector<double>{std::numeric_limits<double>::quiet_NaN()}),
               std::invalid_argument);
  EXPECT_THROW(mann_whitney(std::vector<double>{std::numeric_limits<double>::infinity()}, good),
               std::invalid_argument);
}

TEST(ChanceOfU, CountsTheWays) {
  EXPECT_EQ(chance_of_u_at_most(-1, 3, 3), 0);
  EXPECT_DOUBLE_EQ(chance_of_u_at_most(0, 3, 3), 1.0 / 20);
  EXPECT_DOUBLE_EQ(chance_of_u_at_most(1, 3, 3), 2.0 / 20);
  EXPECT_DOUBLE_EQ(chance_of_u_at_most(4, 3, 3), 0.5);
  EXPECT_EQ(chance_of_u_at_most(9, 3, 3), 1);
}

}  // namespace

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

// The shift of values with ties is inside the interval in at least 95 % of 600 draws.
TEST(Shift, HasTheStatedCoverage) {
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

namespace {

using testing::DoubleNear;
using testing::IsEmpty;
using testing::Pointwise;

TEST(FalseDiscovery, AgreesWithScipy) {
  struct Vector {
    std::vector<double> p;
    std::vector<double> adjusted;
  };
  static const Vector vectors[] = {
#define FALSE_DISCOVERY_VECTORS
#undef FALSE_DISCOVERY_VECTORS
  };
  for (const Vector& vector : vectors) {
    EXPECT_THAT(adjust_false_discovery(vector.p), Pointwise(DoubleNear(1e-12), vector.adjusted));
  }
  EXPECT_THAT(adjust_false_discovery({}), IsEmpty());
}

TEST(FalseDiscovery, RefusesWhatIsNoProbability) {
  EXPECT_THROW(adjust_false_discovery(std::vector<double>{0.1, 1.5}), std::invalid_argument);
  EXPECT_THROW(adjust_false_discovery(std::vector<double>{std::numeric_limits<double>::quiet_NaN()}),
               std::invalid_argument);
}

}  // namespace

}  // namespace peakmark
