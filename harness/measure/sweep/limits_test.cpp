#include "measure/sweep/limits.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Limits, AreWrittenWithAUnit) {
  EXPECT_EQ(parse_peak_limit("3 GiB"), Size{3} << 30);
  EXPECT_EQ(parse_peak_limit("3000 B"), 3000);
  EXPECT_EQ(parse_peak_limit("0.5KiB"), 512);
  EXPECT_EQ(parse_time_limit("2 ms"), 2e6);
  EXPECT_EQ(parse_time_limit("1.5s"), 1.5e9);
  EXPECT_EQ(parse_time_limit("850 us"), 850e3);
  EXPECT_EQ(parse_time_limit("850 µs"), 850e3);
  EXPECT_EQ(parse_time_limit("7 ns"), 7);
}

TEST(Limits, WithoutAUnitAreRefused) {
  for (const char* text : {"3000", "3.5", "", " "}) {
    SCOPED_TRACE(text);
    EXPECT_THAT([&] { parse_peak_limit(text); }, ThrowsMessage<UsageError>(HasSubstr("has no unit")));
    EXPECT_THAT([&] { parse_time_limit(text); }, ThrowsMessage<UsageError>(HasSubstr("is not a time")));
  }
}

TEST(Limits, ThatCannotBeKeptAreRefused) {
  for (const char* text : {"0 B", "0 GiB", "-1 B", "nan B", "3 parsecs", "99999999999 GiB"}) {
    SCOPED_TRACE(text);
    EXPECT_THROW(parse_peak_limit(text), UsageError);
  }
  for (const char* text : {"0 ms", "-1 ms", "nan ms", "inf s", "1e3 ms", "2 minutes", "1.2.3 ms", "ms"}) {
    SCOPED_TRACE(text);
    EXPECT_THROW(parse_time_limit(text), UsageError);
  }
}

TEST(Limits, AnAllowanceIsASizeOrAPercentage) {
  Limits limits;
  EXPECT_FALSE(limits.covers_growth(1000, 1001)) << "none is set";
  EXPECT_FALSE(limits.shrank_too_far(1000, 0)) << "none is set";
  limits.growth = parse_allowance("5 %");
  EXPECT_TRUE(limits.covers_growth(1000, 1050));
  EXPECT_FALSE(limits.covers_growth(1000, 1051));
  limits.shrinking = parse_allowance("64 B");
  EXPECT_FALSE(limits.shrank_too_far(1000, 936));
  EXPECT_TRUE(limits.shrank_too_far(1000, 935));
  EXPECT_FALSE(limits.shrank_too_far(1000, 2000));
  for (const char* text : {"5", "", "0.5"})
    EXPECT_THAT([&] { parse_allowance(text); }, ThrowsMessage<UsageError>(HasSubstr("has no unit")));
  for (const char* text : {"101 %", "-1 %", "nan %", "3 parsecs"})
    EXPECT_THROW(parse_allowance(text), UsageError) << text;
}

TEST(Limits, ReplaceOthersOneByOne) {
  Limits limits{1000, 1.5, std::nullopt, parse_allowance("5 %")};
  limits.metric("iterations").max = 30;
  limits.metric("rate").min = 1;
  Limits other;
  other.peak_bytes = 2000;
  other.metric("iterations").min = 2;
  other.metric("rate").min = 0.5;
  limits.replace(other);
  EXPECT_EQ(limits, (Limits{2000,
                            1.5,
                            std::nullopt,
                            parse_allowance("5 %"),
                            std::nullopt,
                            {{"iterations", 2, 30}, {"rate", 0.5, std::nullopt}}}));
}

}  // namespace
}  // namespace peakmark
