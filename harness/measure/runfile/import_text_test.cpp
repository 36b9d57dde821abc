#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/runfile/import_sources.hpp"

namespace peakmark::import_sources {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ImportText, JsonStaysAsItIs) {
  for (const std::string json :
       {R"({"a": [1,2.5,-3e+10, 1,234], "b": {"c": null, "d":true}})",
        R"({"a\"b,1": "x: 1,234 \\ \u00e9 \/"})", "{\"real_time\": 1.234,\r\n \"iterations\": 1000}", "[]",
        "", R"({"mhz_per_cpu": 2793, "real_time": 1.234})", "::error::x ##vso[y]"}) {
    const ImportText text = json_text(json);
    EXPECT_EQ(text.json, json);
    EXPECT_THAT(text.notes, IsEmpty()) << json;
  }
}

TEST(ImportText, WhatIsNoNumberIsNull) {
  // libstdc++, then Visual C++ before 2015 and since, then Google Benchmark since 1.5.0.
  for (const std::string number : {"inf", "-inf", "nan", "-nan", "1.#INF000000000000", "-1.#IND00",
                                   "-nan(ind)", "NaN", "-NaN", "Infinity", "-Infinity"}) {
    EXPECT_EQ(json_text("{\"a\": " + number + ", \"b\":" + number + "}").json, R"({"a": null, "b":null})");
  }
  EXPECT_EQ(json_text(R"({"nan": "inf", "b": [nan,inf]})").json, R"({"nan": "inf", "b": [null,null]})");
}

TEST(ImportText, NumbersOfALocaleAreRead) {
  const auto number = [](const std::string& text) {
    const std::string json = json_text("{\"a\": " + text + ",\n\"iterations\": 100}").json;
    return json.substr(6, json.find(",\n") - 6);
  };
  for (const char* const grouped : {"1,234,000", "1.234.000", "1'234'000", "1 234 000"})
    EXPECT_EQ(number(grouped), "1234000");
  EXPECT_EQ(number("12,34,000"), "1234000");
  EXPECT_EQ(number("-1,234"), "-1234");
  EXPECT_EQ(number("9,0000000000000000e+01"), "9.0000000000000000e+01");
  EXPECT_EQ(number("0,02"), "0.02");
  EXPECT_EQ(number("2%"), "2e-2");
  EXPECT_EQ(number("1,2,3"), "1,2,3") << "left to the parser";
  EXPECT_THAT(json_text(R"({"iterations": 1,234,000, "b": 2,000})").notes,
              ElementsAre(HasSubstr("the first, 1,234,000, was read as 1234000")));
}

TEST(ImportText, ADotGroupsOnlyIfIntegersHaveOne) {
  EXPECT_EQ(json_text(R"({"mhz_per_cpu": 2.800, "real_time": 1.234, "b": 1.2, "c": 1.234e+00})").json,
            R"({"mhz_per_cpu": 2800, "real_time": 1234, "b": 1.2, "c": 1.234e+00})");
  // 2.8 GHz of another program: iterations are not grouped.
  const std::string other = R"({"mhz_per_cpu": 2.800, "iterations": 1000, "real_time": 1.234})";
  EXPECT_EQ(json_text(other).json, other);
}

TEST(ImportText, TextsWithoutEscapesAreRead) {
  EXPECT_EQ(json_text("{\"a\": \"d:\\halt\",\n\"b\": \"d:\\\",\n\"c\": \"f<\"x\">\"\n}").json,
            "{\"a\": \"d:\\\\halt\",\n\"b\": \"d:\\\\\",\n\"c\": \"f<\\\"x\\\">\"\n}");
  EXPECT_EQ(json_text("{\"a\": \"\\u12\"}").json, "{\"a\": \"\\\\u12\"}");
  EXPECT_EQ(json_text("{\"a\": \"x\ty\nz\"}").json, R"({"a": "x\u0009y\u000az"})");
  EXPECT_THAT(json_text("{\"a\": \"d:\\halt\"}").notes, ElementsAre(HasSubstr("before 1.5.0")));
  EXPECT_EQ(json_text("{\"a\": \"\xFC\"}").json, "{\"a\": \"\xEF\xBF\xBD\"}") << "Latin 1";
}

TEST(ImportText, AMissingCommaIsAdded) {
  const ImportText text = json_text("{\"a\": \"x\"\n \"b\": \"y\"\n \"c\": 1}");
  EXPECT_EQ(text.json, "{\"a\": \"x\"\n ,\"b\": \"y\"\n ,\"c\": 1}");
  EXPECT_THAT(text.notes, ElementsAre(HasSubstr("1.5.4")));
}

TEST(ImportText, Utf16IsRead) {
  const auto utf16 = [](std::u16string_view text, bool is_little) {
    std::string bytes = is_little ? "\xFF\xFE" : "\xFE\xFF";
    for (const char16_t unit : text) {
      const char low = static_cast<char>(unit & 0xFFU);
      const char high = static_cast<char>(unit >> 8U);
      bytes += is_little ? low : high;
      bytes += is_little ? high : low;
    }
    return bytes;
  };
  for (const bool is_little : {true, false}) {
    EXPECT_EQ(json_text(utf16(u"[\"a\u00FC\u20AC\U0001F600\"]", is_little)).json, "[\"aü€😀\"]");
    EXPECT_EQ(json_text(utf16(u"[\"\xD83D\"]", is_little)).json, "[\"\uFFFD\"]");
  }
  EXPECT_EQ(json_text("\xFF\xFE[").json, "") << "half of a character";
}

}  // namespace
}  // namespace peakmark::import_sources
