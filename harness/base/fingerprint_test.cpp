#include "base/fingerprint.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

// The values are from fnv64a.c: the offset basis after the byte 0, and "a" with its terminating 0 (test
// vectors `TEST0`).
TEST(Fingerprint, IsFnv1a) {
  Fingerprint nothing;
  nothing.add("");
  EXPECT_EQ(nothing.number(), 0xaf63bd4c8601b7df);
  Fingerprint a;
  a.add("a");
  EXPECT_EQ(a.number(), 0x089be207b544f1e4);
  EXPECT_EQ(a.text(), "089be207b544f1e4");
}

TEST(Fingerprint, PartsAreTheTextThatTheyMake) {
  Fingerprint whole;
  whole.add("abc");
  Fingerprint parts;
  parts.add_part("a");
  parts.add_part("");
  parts.add("bc");
  EXPECT_EQ(parts.number(), whole.number());
}

TEST(Fingerprint, TextsDoNotRunTogether) {
  Fingerprint one;
  one.add("ab");
  one.add("c");
  Fingerprint other;
  other.add("a");
  other.add("bc");
  EXPECT_NE(one.number(), other.number());
}

}  // namespace
}  // namespace peakmark
