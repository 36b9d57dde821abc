#include "sweep/nearest_word.hpp"

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
}  // namespace peakmark
