
#include <gtest/gtest.h>

#include "base/text.hpp"

namespace peakmark {
namespace {

TEST(ScriptWord, IsEachByteOfTheText) {
  EXPECT_EQ(script_word("a/b-1.0_x=2,c:@%+"), "a/b-1.0_x=2,c:@%+");
  EXPECT_EQ(script_word(""), "''");
  EXPECT_EQ(script_word("it's $(x) \\\n\xff"), "'it'\\''s $(x) \\\n\xff'");
  EXPECT_EQ(shell_word("it's\x1b[1m\xff"), "'it'\\''s\xEF\xBF\xBD[1m\xEF\xBF\xBD'")
      << "plain text, for messages";
}

}  // namespace
}  // namespace peakmark
