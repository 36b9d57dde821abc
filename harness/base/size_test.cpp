#include "base/size.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"

namespace peakmark {
namespace {

constexpr Size kMost = std::numeric_limits<Size>::max();

TEST(Size, ReadsBytesAndUnits) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("4096"), 4096);
  EXPECT_EQ(parse_size("24 MB"), 24'000'000);
  EXPECT_EQ(parse_size("16GiB"), 17'179'869'184);
  EXPECT_EQ(parse_size("1.5 GiB"), 1'610'612'736);
  EXPECT_EQ(parse_size("0.1 GB"), 100'000'000);
  EXPECT_EQ(parse_size("9223372036854775807"), kMost);
}

TEST(Size, RefusesWhatIsNoSize) {
  for (const char* text :
       {"", " 1", "-1", "MB", "1.", "1.B", "1.5", "0.3 B", "12 parsecs", "12MBit", "1e3"}) {
    EXPECT_THROW(parse_size(text), UsageError) << text;
  }
  EXPECT_THROW(parse_size("9223372036854775808"), OverflowError);
  EXPECT_THROW(parse_size("10000000 TiB"), OverflowError);
}

TEST(Size, WritesBinaryUnits) {
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(1024), "1 KiB");
  EXPECT_EQ(format_size(1536), "1.5 KiB");
  EXPECT_EQ(format_size(-2048), "-2 KiB");
  EXPECT_EQ(format_size(1024 * 1024 - 1), "1 MiB");
  EXPECT_EQ(format_size(872'415'232), "832 MiB");
  EXPECT_EQ(format_size(kMost), "8 EiB");
}

TEST(Size, ArithmeticThrowsInsteadOfWrapping) {
  EXPECT_EQ(checked_add(kMost - 1, 1), kMost);
  EXPECT_THROW(checked_add(kMost, 1), OverflowError);
  EXPECT_THROW(checked_subtract(std::numeric_limits<Size>::min(), 1), OverflowError);
  EXPECT_EQ(checked_multiply(43200, 16384), 707'788'800);
  EXPECT_THROW(checked_multiply(Size{1} << 32, Size{1} << 31), OverflowError);
}

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
