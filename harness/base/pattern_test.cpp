#include "base/pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;

TEST(Pattern, MatchesAllOrAPartOfAText) {
  const Pattern pattern("n:[0-9]+$");
  EXPECT_TRUE(pattern.is_in("pad/n:20"));
  EXPECT_FALSE(pattern.is_in("pad/n:20/m:x"));
  EXPECT_FALSE(pattern.matches("pad/n:20"));
  EXPECT_TRUE(pattern.matches("n:7"));
  EXPECT_FALSE(pattern.matches("N:7"));
  EXPECT_TRUE(Pattern("n:[0-9]+", Pattern::Letters::any_case).matches("N:7"));
}

TEST(Pattern, HasGroups) {
  const Pattern pattern("(a+)(b)?(c*)");
  EXPECT_THAT(pattern.groups("aa").value(), ElementsAre("aa", "aa", std::nullopt, ""));
  EXPECT_FALSE(pattern.groups("x"));
}

TEST(Pattern, AMalformedExpressionIsAUsageError) {
  EXPECT_THROW(Pattern("("), UsageError);
}

}  // namespace
}  // namespace peakmark
