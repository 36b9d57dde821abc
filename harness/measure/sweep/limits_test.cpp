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

}  // namespace
}  // namespace peakmark
