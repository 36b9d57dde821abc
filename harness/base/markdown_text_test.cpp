#include "base/markdown_text.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

struct MarkdownCase {
  const char* text;
  const char* cell;
  const char* code;
};

constexpr MarkdownCase kCases[] = {
#include "base/markdown_cases.inc"
};

TEST(Markdown, ATextIsNoMarkup) {
  for (const MarkdownCase& one : kCases) {
    EXPECT_EQ(markdown_cell(one.text), one.cell);
    EXPECT_EQ(markdown_code(one.text), one.code);
  }
}

TEST(Markdown, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(markdown_cell("red \xFF\xC2\x9B!"), "red \uFFFD \\!");
  EXPECT_EQ(markdown_code("a\xFF"), "`a\uFFFD`");
}

}  // namespace
}  // namespace peakmark
