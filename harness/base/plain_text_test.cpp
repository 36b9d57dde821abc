#include "base/plain_text.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

TEST(PlainText, WhatIsPlainStays) {
  const std::string text = "a\tb\r\n – µ € 😀 <&>";
  EXPECT_EQ(plain_text(text), text);
  EXPECT_EQ(plain_text(""), "");
}

TEST(PlainText, ControlCharactersAreReplaced) {
  EXPECT_EQ(plain_text("\x1b[31mred\x07"), "\uFFFD[31mred\uFFFD");
  EXPECT_EQ(plain_text(std::string("a\0b\x7f", 4)), "a\uFFFDb\uFFFD");
  EXPECT_EQ(plain_text("\xC2\x9B"
                       "31m"),
            "\uFFFD31m");  // CSI in one character
}

TEST(PlainText, WhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(plain_text("\xFF"
                       "a\x80"),
            "\uFFFDa\uFFFD");
  EXPECT_EQ(plain_text("\xE2\x82"), "\uFFFD\uFFFD");    // cut short
  EXPECT_EQ(plain_text("\xC0\xAF"), "\uFFFD\uFFFD");    // longer than need be
  EXPECT_EQ(plain_text("\xED\xA0\x80"), "\uFFFD");      // a surrogate
  EXPECT_EQ(plain_text("\xEF\xBF\xBF"), "\uFFFD");      // no character of XML
  EXPECT_EQ(plain_text("\xF4\x90\x80\x80"), "\uFFFD");  // beyond the last
}

}  // namespace
}  // namespace peakmark
