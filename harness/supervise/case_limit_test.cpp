#include "supervise/case_limit.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace peakmark {
namespace {

using namespace std::chrono_literals;

TEST(CaseLimit, GrowsWithTheBytesOfTheCase) {
  const CaseLimit limit;
  EXPECT_EQ(limit.limit(std::nullopt), 60s);
  EXPECT_EQ(limit.limit(0), 60s);
  EXPECT_EQ(limit.limit(Size{1} << 30), 70s);
  EXPECT_EQ(limit.limit((Size{1} << 30) / 4), 62'500ms);
  EXPECT_EQ(limit.limit(Size{113} << 30), 1190s);
}

TEST(CaseLimit, AnExactOneDoesNot) {
  const CaseLimit limit{2500ms, 0ms};
  EXPECT_EQ(limit.limit(std::nullopt), 2500ms);
  EXPECT_EQ(limit.limit(Size{113} << 30), 2500ms);
}

TEST(CaseLimit, StaysATimeThatAClockHas) {
  EXPECT_EQ(CaseLimit{}.limit(std::numeric_limits<Size>::max()), 60s + 24h);
}

}  // namespace
}  // namespace peakmark
