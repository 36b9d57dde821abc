#include "sweep/window.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Window, IsReadAndWrittenBack) {
  EXPECT_EQ(parse_window("0.8:1.0"), (Window{0.8, 1.0}));
  EXPECT_EQ(parse_window("1:1"), (Window{1, 1}));
  EXPECT_EQ(parse_window("0:2.5"), (Window{0, 2.5}));
  for (const char* text : {"0.8:1", "0.1:0.30000000000000004", "0:1e-12"}) {
    EXPECT_EQ(to_text(parse_window(text)), text);
  }
}

TEST(Window, IsRefusedWhenMalformed) {
  for (const char* text :
       {"", "0.8", ":", "0.8:", ":1", "a:b", "0.8:1:2", "-0.1:1", "0.8:inf", "nan:1", "0.8 :1"}) {
    EXPECT_THAT([&] { (void)parse_window(text); }, ThrowsMessage<UsageError>(HasSubstr("is no window")))
        << text;
  }
  EXPECT_THAT([] { (void)parse_window("1.0:0.8"); },
              ThrowsMessage<UsageError>(HasSubstr("1 is more than 0.8")));
}

}  // namespace
}  // namespace peakmark
