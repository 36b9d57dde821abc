#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "measure/device/device.hpp"

namespace peakmark {
namespace {

using testing::Eq;
using testing::Optional;

class GuardsTest : public testing::Test {
 protected:
  std::optional<std::string> text() const {
    const std::span<const std::byte> both(guards_);
    return overwritten_text(array_, both.first(4096), both.last(4096));
  }

  GuardedArray array_{.name = "tmp", .number = 3, .bytes = 16384};
  std::vector<std::byte> guards_ = guard_pattern(array_);
  std::byte* const end_ =
      guards_.data() + 4096;  // the guard before the array ends here, and that after it begins
};

TEST_F(GuardsTest, UnchangedGuardsAreFine) {
  EXPECT_EQ(text(), std::nullopt);
}

TEST_F(GuardsTest, APlaceIsCountedFromTheArray) {
  for (int i = 0; i < 4; ++i) end_[i] ^= std::byte{1};
  EXPECT_THAT(text(),
              Optional(Eq("array 'tmp' (number 3, 16 KiB): bytes 0 to 3 after its end were overwritten")));
  end_[-1] ^= std::byte{1};
  EXPECT_THAT(text(),
              Optional(Eq("array 'tmp' (number 3, 16 KiB): byte 1 before its start and bytes 0 to 3 after "
                          "its end were overwritten")));
}

TEST_F(GuardsTest, ScatteredBytesAreCounted) {
  end_[-9] ^= std::byte{1};
  end_[-2] ^= std::byte{1};
  EXPECT_THAT(
      text(),
      Optional(
          Eq("array 'tmp' (number 3, 16 KiB): 2 of the bytes 2 to 9 before its start were overwritten")));
}

TEST_F(GuardsTest, TheFarthestByteOfAGuardIsSeen) {
  guards_.front() ^= std::byte{1};
  guards_.back() ^= std::byte{1};
  EXPECT_THAT(text(),
              Optional(Eq("array 'tmp' (number 3, 16 KiB): byte 4096 before its start and byte 4095 after "
                          "its end were overwritten")));
}

TEST_F(GuardsTest, TheOtherFillDiffersInEveryBit) {
  array_.fill = GuardFill::inverted;
  const std::vector<std::byte> inverted = guard_pattern(array_);
  ASSERT_EQ(guards_.size(), 2U * 4096);
  ASSERT_EQ(inverted.size(), guards_.size());
  for (std::size_t i = 0; i < inverted.size(); ++i) EXPECT_EQ(inverted[i], ~guards_[i]);
}

// A kernel that copies one element too many reads a guard and writes another one.
TEST_F(GuardsTest, ArraysHaveDifferentPatterns) {
  array_.number = 4;
  const std::vector<std::byte> other = guard_pattern(array_);
  Size equal = 0;
  for (std::size_t i = 0; i < other.size(); ++i) equal += other[i] == guards_[i] ? 1 : 0;
  EXPECT_LT(equal, 100) << "8192 / 256 are expected by chance";
}

}  // namespace
}  // namespace peakmark
