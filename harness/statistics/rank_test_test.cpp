#include "statistics/rank_test.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "statistics/rank_vectors.hpp"

namespace peakmark {
namespace {

using testing::Gt;

std::vector<double> counted(std::size_t size, double from) {
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

TEST(RankTest, NineASideCanStandOutAmongAThousandCasesAndSevenCannot) {
  const double nine = mann_whitney(counted(9, 0), counted(9, 100)).p;
  const double seven = mann_whitney(counted(7, 0), counted(7, 100)).p;
  EXPECT_DOUBLE_EQ(nine, 2.0 / 48620);
  EXPECT_LT(nine * 1000, 0.05);
  EXPECT_DOUBLE_EQ(seven, 2.0 / 3432);
  EXPECT_GT(seven * 1000, 0.05);
}

TEST(RankTest, OfEqualValuesSaysNothing) {
  EXPECT_EQ(mann_whitney(std::vector<double>(9, 5.0), std::vector<double>(9, 5.0)).p, 1);
  EXPECT_EQ(mann_whitney(std::vector<double>(300, 5.0), std::vector<double>(300, 5.0)).p, 1);
}

TEST(RankTest, ExactAndApproximateMeet) {
  // Around the sizes where one takes over from the other.
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
}  // namespace peakmark
