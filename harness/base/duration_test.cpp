#include "base/duration.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

TEST(Duration, WritesTheUnitThatReadsBest) {
  EXPECT_EQ(format_duration(0), "0 ns");
  EXPECT_EQ(format_duration(850), "850 ns");
  EXPECT_EQ(format_duration(1500), "1.5 us");
  EXPECT_EQ(format_duration(12'345'678), "12.35 ms");
  EXPECT_EQ(format_duration(999'999), "1 ms");
  EXPECT_EQ(format_duration(2e9), "2 s");
  EXPECT_EQ(format_duration(3.6e12), "3600 s");
}

}  // namespace
}  // namespace peakmark
