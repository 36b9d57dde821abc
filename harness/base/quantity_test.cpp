#include "base/quantity.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace peakmark {
namespace {

TEST(Quantity, OneIsSingular) {
  EXPECT_EQ(quantity(1, "case"), "1 case");
  EXPECT_EQ(quantity(std::size_t{0}, "case"), "0 cases");
  EXPECT_EQ(quantity(std::int64_t{-1}, "byte"), "-1 bytes");
  EXPECT_EQ(quantity(std::uint64_t{18446744073709551615U}, "event"), "18446744073709551615 events");
  EXPECT_EQ(quantity(1, "case is", "cases are"), "1 case is");
  EXPECT_EQ(quantity(2, "case is", "cases are"), "2 cases are");
}

}  // namespace
}  // namespace peakmark
