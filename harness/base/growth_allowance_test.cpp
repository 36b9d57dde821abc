#include "base/growth_allowance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"

namespace peakmark {
namespace {

constexpr Size kMaxSize = std::numeric_limits<Size>::max();

TEST(GrowthAllowance, AllowsNothingByDefault) {
  const GrowthAllowance nothing;
  EXPECT_TRUE(nothing.is_zero());
  EXPECT_TRUE(nothing.is_exceeded(1336, 1337));
  EXPECT_FALSE(nothing.is_exceeded(1336, 1336));
  EXPECT_FALSE(nothing.is_exceeded(1336, 1335));
  EXPECT_EQ(nothing.note(), "");
  EXPECT_EQ(nothing.text, "0 B");
}

TEST(GrowthAllowance, OfBytesIncludesItsEnd) {
  const GrowthAllowance allowance = parse_growth_allowance("64KiB");
  EXPECT_TRUE(allowance.covers(1'000'000, 1'065'536));
  EXPECT_FALSE(allowance.covers(1'000'000, 1'065'537));
  EXPECT_TRUE(allowance.is_exceeded(1'000'000, 1'065'537));
  EXPECT_FALSE(allowance.covers(1'000'000, 1'000'000)) << "nothing grew";
  EXPECT_EQ(allowance.note(), "allowed growth: 64KiB (--allow-growth)");
}

TEST(GrowthAllowance, OfAPercentageIsOfTheBaseAndExact) {
  EXPECT_EQ(parse_growth_allowance("0.1%").of(1000), 1);
  EXPECT_EQ(parse_growth_allowance("0.1 %").of(999), 0);
  EXPECT_EQ(parse_growth_allowance("0.7%").of(1000), 7) << "0.7 is no binary fraction";
  EXPECT_EQ(parse_growth_allowance("0.1%").of(1'368'709'120), 1'368'709);
  EXPECT_EQ(parse_growth_allowance("100%").of(kMaxSize), kMaxSize);
  EXPECT_TRUE(parse_growth_allowance("0%").is_zero());
  EXPECT_EQ(parse_growth_allowance("5%").of(0), 0) << "of nothing no part is allowed";
}

TEST(GrowthAllowance, RefusesWhatIsNeither) {
  for (const char* text : {"", "%", " %", "-1%", "101%", "nan%", "1e1%", "0.1 percent", "0.1%%", "12 parsecs",
                           "-1", "0.1  %", "1 2%"}) {
    EXPECT_THROW(parse_growth_allowance(text), UsageError) << text;
  }
}

}  // namespace
}  // namespace peakmark
