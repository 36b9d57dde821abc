#include "base/date.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/text.hpp"

namespace peakmark {
namespace {

// The expected values are from `date -u -d TEXT +%FT%TZ` of GNU coreutils.
std::string utc_of(const std::string& text) {
  const auto parsed = parse_date(text);
  return parsed ? utc_date(parsed->moment) : "none";
}

TEST(ParseDate, ReadsDaysAndTimesWithOffsets) {
  EXPECT_EQ(utc_of("2026-01-31"), "2026-01-31T00:00:00Z");
  EXPECT_EQ(utc_of("2026-01-31T02:00:00Z"), "2026-01-31T02:00:00Z");
  EXPECT_EQ(utc_of("2021-09-30T12:04:13+02:00"), "2021-09-30T10:04:13Z");
  EXPECT_EQ(utc_of("2021-12-31T23:30:00-08:00"), "2022-01-01T07:30:00Z");
  EXPECT_EQ(utc_of("2016-08-02 17:44:46"), "2016-08-02T17:44:46Z");
  EXPECT_EQ(utc_of("2016/08/02-17:44:46"), "2016-08-02T17:44:46Z");
  EXPECT_EQ(utc_of("2024-02-29"), "2024-02-29T00:00:00Z");
}

TEST(ParseDate, KnowsWhetherATimeZoneIsGiven) {
  EXPECT_TRUE(parse_date("2021-09-30T12:04:13+02:00")->has_offset);
  EXPECT_TRUE(parse_date("2021-09-30T12:04:13Z")->has_offset);
  EXPECT_FALSE(parse_date("2016-08-02 17:44:46")->has_offset);
}

TEST(ParseDate, RefusesWhatIsNoDate) {
  for (const std::string text : {"", "yesterday", "2026-02-31", "2023-02-29", "2026-13-01", "26-01-31",
                                 "2026-01-31T25:00:00Z", "2026-01-31T02:00:00Z ", "1969-12-31", "2262-01-01",
                                 "2999-01-01", "-026-01-31", "2026-01-31T02:00:00+02:00x"}) {
    EXPECT_EQ(utc_of(text), "none") << text;
  }
}

}  // namespace
}  // namespace peakmark
