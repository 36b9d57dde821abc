#include <gtest/gtest.h>

#include "base/text.hpp"

namespace peakmark {
namespace {

TEST(WithoutTerminalCodes, ColoursAndLinksAreRemoved) {
  EXPECT_EQ(without_terminal_codes("a – b"), "a – b");
  // A traceback as Python 3.13 prints it.
  EXPECT_EQ(without_terminal_codes("  File \x1b[35m\"train.py\"\x1b[0m, line \x1b[35m3\x1b[0m"),
            "  File \"train.py\", line 3");
  EXPECT_EQ(without_terminal_codes("\x1b[1;35mValueError\x1b[0m: \x1b[38;2;1;2;3mno\x1b[m"),
            "ValueError: no");
  EXPECT_EQ(without_terminal_codes("\x1b[K\x1b[?25lbusy\x1b[2 q\x1b(B"), "busy");
  EXPECT_EQ(without_terminal_codes("\x1b]8;;http://example.org\x1b\\link\x1b]8;;\x07 \x1b]0;title\x07x"),
            "link x");
  EXPECT_EQ(without_terminal_codes("\x1b]0;title\x1b[31mred"), "red");  // a title without an end
}

TEST(WithoutTerminalCodes, WhatIsCutOrBeginsNoneLosesOnlyItself) {
  EXPECT_EQ(without_terminal_codes("red\x1b[31"), "red");
  EXPECT_EQ(without_terminal_codes("red\x1b"), "red");
  EXPECT_EQ(without_terminal_codes("\x1b[31é"), "é");
  EXPECT_EQ(without_terminal_codes("a\x1b\nb"), "a\nb");
  EXPECT_EQ(without_terminal_codes("\x1b\x1b[1mbold"), "bold");
}

}  // namespace
}  // namespace peakmark
