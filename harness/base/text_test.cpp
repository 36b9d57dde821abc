#include "base/text.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace peakmark {
namespace {

TEST(PlainText, IsNoCommandOfACiLog) {
  EXPECT_EQ(plain_text("::error::x\n  ::set-output name=a::b\na ::b"),
            "\\::error::x\n  \\::set-output name=a::b\na ::b");
  EXPECT_EQ(plain_text("x ##vso[task.complete]##[error]"), "x #\\#vso[task.complete]#\\#[error]");
  EXPECT_EQ(plain_text("###[error]"), "##\\#[error]");
  EXPECT_EQ(one_line("\n::error::x"), "\\n::error::x") << "the line begins otherwise";
  EXPECT_EQ(one_line("::error::x"), "\\::error::x");
  EXPECT_EQ(plain_text(plain_text("::error::##[x]")), plain_text("::error::##[x]"));
  EXPECT_EQ(plain_text("std::vector # a ## b"), "std::vector # a ## b");
  EXPECT_EQ(shell_word("::x"), "::x") << "an argument stays as it is";
}

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

TEST(OneLine, ControlCharactersAreEscaped) {
  EXPECT_EQ(one_line("– µ € 😀 C:\\new"), "– µ € 😀 C:\\new");
  EXPECT_EQ(one_line("\x1b[2Jgone\x07"), "\\x1b[2Jgone\\x07");
  EXPECT_EQ(one_line("a\tb\r\nc"), "a\\tb\\r\\nc");
  EXPECT_EQ(one_line(std::string("a\0b\x7f", 4)), "a\\x00b\\x7f");
  EXPECT_EQ(one_line("\xC2\x9B"
                     "31m"),
            "\\u009b31m");
  EXPECT_EQ(one_line("\xFF"
                     "a\xE2\x82"),
            "\\xffa\\xe2\\x82");
  EXPECT_EQ(one_line("\xEF\xBF\xBF"), "\\uffff");
  EXPECT_EQ(one_line("\xF4\x90\x80\x80"), "\\U00110000");
}

TEST(Shortened, KeepsBeginningAndEnd) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("", 4), "");
  EXPECT_EQ(shortened("abcdefghij", 4), "ab … (6 bytes left out) … ij");
  // The characters ä ö ü have two bytes each, and none is cut in two.
  EXPECT_EQ(shortened("\xc3\xa4\xc3\xb6\xc3\xbc", 5), "\xc3\xa4 … (2 bytes left out) … \xc3\xbc");
  EXPECT_EQ(shortened("a\xc3\xa4\xc3\xb6z", 4), "a … (4 bytes left out) … z");
  EXPECT_LT(shortened(std::string(50'000'000, 'y'), 4000).size(), 4100U);
}

TEST(CutInMiddle, KeepsBothEnds) {
  EXPECT_EQ(cut_in_middle("python mean.py", 14), "python mean.py");
  EXPECT_EQ(cut_in_middle("python3 /a/long/way/mean.py", 13), "python…ean.py");
  EXPECT_EQ(cut_in_middle("abcdef", 4), "ab…f");
  EXPECT_EQ(cut_in_middle("äöüßäöü", 5), "äö…öü") << "characters, not bytes";
}

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

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_number<std::int64_t>("-42"), -42);
  EXPECT_EQ(parse_number<double>("0.5"), 0.5);
  for (const char* const text : {"", " 1", "1 ", "+1", "1e3", "1.5", "x", "9223372036854775808"})
    EXPECT_EQ(parse_number<std::int64_t>(text), std::nullopt) << text;
  EXPECT_EQ(parse_number<std::uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(parse_number<int>("2147483648"), std::nullopt);
}

TEST(Quantity, OneIsSingular) {
  EXPECT_EQ(quantity(1, "case"), "1 case");
  EXPECT_EQ(quantity(std::size_t{0}, "case"), "0 cases");
  EXPECT_EQ(quantity(std::int64_t{-1}, "byte"), "-1 bytes");
  EXPECT_EQ(quantity(std::uint64_t{18446744073709551615U}, "event"), "18446744073709551615 events");
  EXPECT_EQ(quantity(1, "case is", "cases are"), "1 case is");
  EXPECT_EQ(quantity(2, "case is", "cases are"), "2 cases are");
}

TEST(FirstNames, CountsTheOthers) {
  EXPECT_EQ(first_names({"a", "b", "c", "d", "e"}, 3), "a, b, c and 2 more");
  EXPECT_EQ(first_names({"a", "b", "c"}, 3), "a, b, c");
  EXPECT_EQ(first_names({}, 3), "");
}

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
