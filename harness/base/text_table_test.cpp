#include "base/text_table.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

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

}  // namespace
}  // namespace peakmark
