#include "base/markdown_text.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

TEST(Markdown, NothingOfATextEndsItsCellOrBeginsATag) {
  EXPECT_EQ(markdown_cell("SIGSEGV & <gone> | twice\r\nand on"), "SIGSEGV & &lt;gone> \\| twice  and on");
  EXPECT_EQ(markdown_cell("\x1b[31mred \xFF"), "\uFFFD[31mred \uFFFD");
  EXPECT_EQ(markdown_cell(""), "");
}

TEST(Markdown, NothingOfANameEndsItsBackticks) {
  EXPECT_EQ(markdown_code("op/a/opencl/mode:<x>"), "`op/a/opencl/mode:<x>`");
  EXPECT_EQ(markdown_code("a`b|c\nd\re"), "`a b c d e`");
  EXPECT_EQ(markdown_code("\x07"), "`\uFFFD`");
}

}  // namespace
}  // namespace peakmark
