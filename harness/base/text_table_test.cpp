#include "base/text_table.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace peakmark {
namespace {

TEST(TextTable, AlignsAndTrims) {
  TextTable table({{"case", TextTable::Align::left}, {"peak", TextTable::Align::right}, {"verdict"}});
  table.add({"a/b", "1 KiB", "pass"});
  table.add({"größer", "10 KiB", ""});
  EXPECT_EQ(table.text(),
            "case      peak  verdict\n"
            "a/b      1 KiB  pass\n"
            "größer  10 KiB\n");
  EXPECT_THROW(table.add({"too", "short"}), std::logic_error);
}

TEST(TextTable, ACellIsOneLineThatNoTerminalObeys) {
  TextTable table({{"name"}, {"bytes", TextTable::Align::right}});
  table.add({"\x1b[31mred\nnext", "1"});
  EXPECT_EQ(table.text(),
            "name               bytes\n"
            "\\x1b[31mred\\nnext      1\n");
}

TEST(TextTable, OfALongListTheFirstAndHowManyMore) {
  const auto add = [](TextTable& table, int one) { table.add({"  " + std::to_string(one)}); };
  const std::vector<int> all{1, 2, 3};
  EXPECT_EQ(first_rows(TextTable({{"  number"}}), 2, all, add),
            "  number\n  1\n  2\n  and 1 more; --json has them all\n");
  EXPECT_EQ(first_rows(TextTable({{"  number"}}), 3, all, add), "  number\n  1\n  2\n  3\n");
}

TEST(TextTable, LeavesOutColumnsThatDoNotFit) {
  TextTable table({{"case"}, {"top"}, {"GB/s"}, {"verdict"}});
  table.add({"pad", "input 20 KiB", "98.7", "pass"});
  EXPECT_EQ(table.text_within(80, {"top", "GB/s"}), table.text());
  EXPECT_EQ(table.text_within(20, {"top", "GB/s"}), "case  GB/s  verdict\npad   98.7  pass\n");
  EXPECT_EQ(table.text_within(1, {"top", "GB/s"}), "case  verdict\npad   pass\n") << "the rest stays";
}

TEST(MarkdownTable, WritesCellsByTheFormatOfTheirColumn) {
  MarkdownTable table({{"case", TextTable::Align::left, TextTable::Format::name},
                       {"peak", TextTable::Align::right},
                       {"why", TextTable::Align::left, TextTable::Format::markdown}},
                      1000);
  table.add({"a/b", "1 | 2", "one<br>two"});
  EXPECT_EQ(table.text(),
            "| case | peak | why |\n"
            "|---|---:|---|\n"
            "| `a/b` | 1 \\| 2 | one<br>two |\n");
  EXPECT_EQ(table.left_out(), 0u);
  EXPECT_THROW(table.add({"too", "short"}), std::logic_error);
}

TEST(MarkdownTable, LeavesOutAllRowsFromTheFirstThatDoesNotFit) {
  MarkdownTable table({{"a"}}, 30);
  table.add({"first"});
  table.add({"a long row"});
  table.add({"b"});
  EXPECT_EQ(table.text(), "| a |\n|---|\n| first |\n");
  EXPECT_EQ(table.left_out(), 2u);
}

}  // namespace
}  // namespace peakmark
