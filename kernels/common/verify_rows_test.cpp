#include "kernels/common/verify_rows.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <set>

namespace peakmark {
namespace {

TEST(Seeded, IsKnownElementByElement) {
  std::vector<float> whole(1000);
  fill_seeded<float>(whole, 7, 0);
  std::vector<float> piece(10);
  fill_seeded<float>(piece, 7, 990);
  EXPECT_THAT(piece, testing::ElementsAreArray(whole.end() - 10, whole.end()));
}

TEST(Seeded, ValuesFillTheRangeAndDiffer) {
  std::set<double> seen;
  double sum = 0;
  for (Size i = 0; i < 10000; ++i) {
    const auto value = seeded_value<double>(3, i);
    EXPECT_GE(value, -1.0);
    EXPECT_LT(value, 1.0);
    EXPECT_EQ(value, static_cast<double>(seeded_value<float>(3, i)));
    seen.insert(value);
    sum += value;
  }
  EXPECT_GT(seen.size(), 9980U);
  EXPECT_NEAR(sum / 10000, 0, 0.03);
}

TEST(Seeded, BeyondTwoToThe32ItDoesNotRepeat) {
  int equal = 0;
  for (Size i = 0; i < 100; ++i) equal += seeded_bits(1, i) == seeded_bits(1, i + (Size{1} << 32)) ? 1 : 0;
  EXPECT_LT(equal, 3);
}

TEST(RowComparison, ReportsWhereAndByHowMuch) {
  RowComparison comparison(Shape{2, 3, 4});
  const std::vector<float> expected{1, 2, 3, 4};
  std::vector<float> actual = expected;
  comparison.add<float>(0, expected, actual, 0);
  EXPECT_EQ(comparison.error(), "");
  actual[2] = 3.5F;
  comparison.add<float>(4, expected, actual, 0.25);
  EXPECT_NE(comparison.error(), "");
  EXPECT_EQ(
      comparison.error(),
      "1 of 8 elements compared are wrong; the first at (1, 1, 2) is 3.5 instead of 3 (tolerance 0.25)");
}

TEST(RowComparison, NanIsWrongUnlessExpected) {
  const std::vector<double> nan{std::numeric_limits<double>::quiet_NaN()};
  const std::vector<double> one{1};
  RowComparison comparison(Shape{1, 1});
  comparison.add<double>(0, nan, nan, 0);
  EXPECT_EQ(comparison.error(), "");
  comparison.add<double>(0, one, nan, 10);
  EXPECT_NE(comparison.error(), "");
}

TEST(RowsToVerify, AllOfASmallArray) {
  EXPECT_THAT(rows_to_verify(Shape{2, 2, 5}, {}), testing::ElementsAre(0, 1, 2, 3));
}

TEST(RowsToVerify, EndsAndWantedRowsOfALargeOne) {
  const Shape shape{100, 4096, 4096};
  const std::vector<Size> always{5000, 77};
  const std::vector<Size> rows = rows_to_verify(shape, always);
  EXPECT_THAT(rows, testing::IsSupersetOf({Size{0}, Size{77}, Size{5000}, Size{100 * 4096 - 1}}));
  EXPECT_GT(rows.size(), 250U);
  EXPECT_TRUE(std::ranges::is_sorted(rows));
}

}  // namespace
}  // namespace peakmark
