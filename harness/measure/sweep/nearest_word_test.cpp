#include "measure/sweep/nearest_word.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peakmark {

namespace {

// The textbook examples of the Levenshtein distance, and of a swap of neighbours.
TEST(NearestWord, CountsTypingMistakes) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("saturday", "sunday"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
  EXPECT_EQ(edit_distance("egde", "edge"), 1u);
}

TEST(NearestWord, FindsWhatWasMeant) {
  const std::vector<std::string> modes{"constant", "edge", "reflect", "symmetric", "wrap"};
  EXPECT_EQ(nearest_word("egde", modes), "edge");
  EXPECT_EQ(nearest_word("Constant", modes), "constant");
  EXPECT_EQ(nearest_word("symetric", modes), "symmetric");
  EXPECT_EQ(nearest_word("mirror", modes), "");
  EXPECT_EQ(nearest_word("", modes), "");
  EXPECT_EQ(nearest_word(std::string(100'000, 'x'), modes), "");
}

TEST(NearestWord, KnowsTheLastPartOfAPath) {
  const std::vector<std::string> variants{"padding/coords2d", "padding/coords1d"};
  EXPECT_EQ(nearest_word("coords1d", variants), "padding/coords1d");
  EXPECT_EQ(nearest_word("pading/coords2d", variants), "padding/coords2d");
}

TEST(NearestWord, EndsAnErrorMessage) {
  EXPECT_EQ(suggest_word("egde", {"edge", "wrap"}), "; did you mean 'edge'? (known: edge, wrap)");
  EXPECT_EQ(suggest_word("mirror", {"edge", "wrap"}), "; known: edge, wrap");
  EXPECT_EQ(suggest_word("mirror", {}), "");
  const std::string many = suggest_word("mirror", std::vector<std::string>(30, "word"));
  EXPECT_TRUE(many.ends_with(", … 6 more")) << many;
}

}  // namespace

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

TEST(VariantPattern, AMisspeltOneGetsTheNearestThatMatches) {
  const auto suggestion = [](std::string_view pattern) { return suggest_pattern(pattern, kNames); };
  EXPECT_EQ(suggestion("pading/*"),
            "; did you mean 'padding/*'? (known: padding/coords1d, padding/coords2d, padding/computed, "
            "filter/whole, vertical_shift/muladd)");
  EXPECT_THAT(suggestion("filt/*"), StartsWith("; did you mean 'filter/*'?"));
  EXPECT_THAT(suggestion("padding/cords*"), StartsWith("; did you mean 'padding/coords*'?"));
  EXPECT_THAT(suggestion("*/mulad"), StartsWith("; did you mean '*/muladd'?"));
  EXPECT_THAT(suggestion("padding/*1e"), StartsWith("; did you mean 'padding/*1d'?"));
}

TEST(VariantPattern, IfNoneIsNearAllNamesAreListed) {
  EXPECT_THAT(suggest_pattern("fft/*", kNames), StartsWith("; known: padding/coords1d, "));
  EXPECT_THAT(suggest_pattern("pading/x*y", kNames), StartsWith("; known: "));
  EXPECT_THAT(suggest_pattern("*", {}), testing::IsEmpty());
}

TEST(VariantPattern, WithoutAStarItIsAWord) {
  EXPECT_THAT(suggest_pattern("padding/coord1d", kNames), StartsWith("; did you mean 'padding/coords1d'?"));
}

}  // namespace

}  // namespace peakmark
