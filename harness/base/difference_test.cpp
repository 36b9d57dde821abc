#include "base/difference.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

using Texts = std::pair<std::string, std::string>;

TEST(Difference, ASizeThatReadsAsTheOtherHasTheDifference) {
  EXPECT_EQ(format_size_beside(315'495, 315'494), "308.1 KiB +1 B");
  EXPECT_EQ(format_size_beside(315'494, 315'495), "308.1 KiB -1 B");
  EXPECT_EQ(format_size_beside(315'494, 315'494), "308.1 KiB");
  EXPECT_EQ(format_size_beside(2048, 1024), "2 KiB");
  EXPECT_EQ(format_size_beside(3, 2), "3 B");
}

TEST(Difference, TimesHaveTheDigitsThatShowThatTheyDiffer) {
  EXPECT_EQ(format_durations(1e6, 1.004e6), (Texts{"1 ms", "1.004 ms"}));
  EXPECT_EQ(format_durations(1e6, 1.00004e6), (Texts{"1 ms", "1.00004 ms"}));
  EXPECT_EQ(format_durations(123'456.0, 123'457.0), (Texts{"123.456 us", "123.457 us"}));
  EXPECT_EQ(format_durations(5e9, 5e9), (Texts{"5 s", "5 s"}));
  EXPECT_EQ(format_durations(0, 0.5), (Texts{"0 ns", "0.5 ns"}));
}

TEST(Difference, AChangeNeverReadsAsNone) {
  EXPECT_EQ(format_change(0.052, 1), "+5.2 %");
  EXPECT_EQ(format_change(-0.25, 2), "-25.00 %");
  EXPECT_EQ(format_change(0, 1), "+0.0 %");
  EXPECT_EQ(format_change(0.0005, 1), "+0.1 %");
  EXPECT_EQ(format_change(0.0004, 1), "+0.04 %");
  EXPECT_EQ(format_change(-1.0 / 315'494, 2), "-0.0003 %");
}

}  // namespace
}  // namespace peakmark
