#include "sweep/variant_pattern.hpp"

#include <gmock/gmock.h>

namespace peakmark {
namespace {

using testing::StartsWith;

const std::vector<std::string> kNames = {"padding/coords1d", "padding/coords2d", "padding/computed",
                                         "filter/whole", "vertical_shift/muladd"};

TEST(VariantPattern, AStarIsAnyText) {
  EXPECT_TRUE(matches_pattern("padding/*", "padding/coords1d"));
  EXPECT_TRUE(matches_pattern("*coords*d", "padding/coords1d"));
  EXPECT_TRUE(matches_pattern("padding/coords1d*", "padding/coords1d"));
  EXPECT_FALSE(matches_pattern("padding/", "padding/coords1d"));
  EXPECT_FALSE(matches_pattern("", "padding/coords1d"));
}

TEST(VariantPattern, AMisspeltOneIsToldTheNearestThatMatches) {
  const auto told = [](std::string_view pattern) { return suggest_pattern(pattern, kNames); };
  EXPECT_EQ(told("pading/*"),
            "; did you mean 'padding/*'? (known: padding/coords1d, padding/coords2d, padding/computed, "
            "filter/whole, vertical_shift/muladd)");
  EXPECT_THAT(told("filt/*"), StartsWith("; did you mean 'filter/*'?"));
  EXPECT_THAT(told("padding/cords*"), StartsWith("; did you mean 'padding/coords*'?"));
  EXPECT_THAT(told("*/mulad"), StartsWith("; did you mean '*/muladd'?"));
  EXPECT_THAT(told("padding/*1e"), StartsWith("; did you mean 'padding/*1d'?"));
}

TEST(VariantPattern, WhereNoneIsNearTheNamesAreTold) {
  EXPECT_THAT(suggest_pattern("fft/*", kNames), StartsWith("; known: padding/coords1d, "));
  EXPECT_THAT(suggest_pattern("pading/x*y", kNames), StartsWith("; known: "));
  EXPECT_THAT(suggest_pattern("*", {}), testing::IsEmpty());
}

TEST(VariantPattern, WithoutAStarItIsAWord) {
  EXPECT_THAT(suggest_pattern("padding/coord1d", kNames), StartsWith("; did you mean 'padding/coords1d'?"));
}

}  // namespace
}  // namespace peakmark
