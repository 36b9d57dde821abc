#include "measure/device/largest_allocation.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

constexpr Size kGiB = Size{1} << 30;

DeviceInfo device_of(std::optional<Size> memory, std::optional<Size> max_allocation) {
  DeviceInfo info;
  info.memory_bytes = memory;
  info.max_allocation_bytes = max_allocation;
  return info;
}

struct Found {
  std::optional<Size> bytes;
  int tries = 0;
};

Found find(const DeviceInfo& device, Size limit) {
  Found found;
  found.bytes = largest_allocation(device, [&](Size bytes) {
    ++found.tries;
    EXPECT_GT(bytes, 0);
    EXPECT_LE(bytes, *device.memory_bytes);
    return bytes <= limit;
  });
  return found;
}

TEST(LargestAllocation, IsExactWhereTheDriverReportsIt) {
  const Found found = find(device_of(16 * kGiB, 4 * kGiB), 4 * kGiB);
  EXPECT_EQ(found.bytes, 4 * kGiB);
  EXPECT_EQ(found.tries, 3);
  EXPECT_EQ(find(device_of(16 * kGiB, 4 * kGiB), 16 * kGiB).bytes, 16 * kGiB);
}

TEST(LargestAllocation, IsWithinOneMebibyteElsewhere) {
  for (const std::optional<Size> reported : {std::optional<Size>(), std::optional<Size>(4 * kGiB)}) {
    for (const Size limit : {3 * kGiB + 12345, 5 * kGiB + 1, 80 * kGiB - 1, Size{0}}) {
      const Found found = find(device_of(80 * kGiB, reported), limit);
      ASSERT_TRUE(found.bytes);
      EXPECT_LE(*found.bytes, limit);
      EXPECT_GT(*found.bytes, limit - (1 << 20));
      EXPECT_LE(found.tries, 25);
    }
  }
}

TEST(LargestAllocation, IsUnknownWithoutAMemorySize) {
  EXPECT_EQ(find(device_of(std::nullopt, kGiB), kGiB).bytes, std::nullopt);
}

TEST(FillMemory, SumsUpWhatIsAccepted) {
  const auto fill = [](Size limit, Size max_piece, Size capacity) {
    Size left = capacity;
    int tries = 0;
    const Size sum = fill_memory(limit, max_piece, [&](Size bytes) {
      ++tries;
      EXPECT_GT(bytes, 0);
      EXPECT_LE(bytes, max_piece);
      EXPECT_EQ(bytes % (2 << 20), 0);
      if (bytes > left) return false;
      left -= bytes;
      return true;
    });
    EXPECT_LE(tries, 60);
    EXPECT_EQ(sum, capacity - left);
    return sum;
  };
  EXPECT_EQ(fill(80 * kGiB, 80 * kGiB, 80 * kGiB), 80 * kGiB);
  EXPECT_EQ(fill(80 * kGiB, 20 * kGiB, 200 * kGiB), 80 * kGiB) << "no more than the limit";
  EXPECT_EQ(fill(kGiB, kGiB, 0), 0);
  EXPECT_EQ(fill(1000, 1000, 1000), 0) << "less than a step";
  const Size capacity = 79 * kGiB + 123456789;
  EXPECT_GT(fill(80 * kGiB, 80 * kGiB, capacity), capacity - (2 << 20));
  EXPECT_LE(fill(80 * kGiB, 80 * kGiB, capacity), capacity);
}

TEST(TryAllocation, ADeviceOfMemoryThatIsNotComputedTakesAny) {
  DeviceInfo dry;
  dry.backend = Backend::dry;
  EXPECT_TRUE(try_allocation(dry, 1000));
}

}  // namespace
}  // namespace peakmark
