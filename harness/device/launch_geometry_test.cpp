#include "device/launch_geometry.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "base/error.hpp"

namespace peakmark {
namespace {

using Three = std::array<Size, 3>;

DeviceInfo any_gpu() {
  DeviceInfo info;
  info.name = "a GPU";
  info.compute_units = 80;
  return info;
}

DeviceInfo cpu() {
  DeviceInfo info;
  info.name = "a CPU";
  info.is_cpu = true;
  info.compute_units = 2;
  return info;
}

TEST(LaunchGeometry, GlobalIsRoundedUpToTheLocalSizesGiven) {
  const LaunchGeometry geometry =
      launch_geometry({.x = 100, .y = 7, .z = 3, .local_x = 32, .local_y = 4, .local_z = 1}, any_gpu(), 1024);
  EXPECT_EQ(geometry.local, (Three{32, 4, 1}));
  EXPECT_EQ(geometry.global, (Three{128, 8, 3}));
}

TEST(LaunchGeometry, ALocalSizeLeftOutBesideOneGivenIsOne) {
  EXPECT_EQ(launch_geometry({.x = 100, .y = 7, .local_x = 64}, any_gpu(), 1024).local, (Three{64, 1, 1}));
}

TEST(LaunchGeometry, AGpuGetsGroupsOf256AlongXFirst) {
  EXPECT_EQ(launch_geometry({.x = 10000, .y = 500}, any_gpu(), 1024).local, (Three{256, 1, 1}));
  EXPECT_EQ(launch_geometry({.x = 17, .y = 500}, any_gpu(), 1024).local, (Three{32, 8, 1}));
  EXPECT_EQ(launch_geometry({.x = 1, .y = 3}, any_gpu(), 1024).local, (Three{1, 4, 1}));
  EXPECT_EQ(launch_geometry({.x = 10000}, any_gpu(), 100).local, (Three{64, 1, 1}));
}

TEST(LaunchGeometry, ACpuGetsEnoughGroupsForItsCores) {
  EXPECT_EQ(launch_geometry({.x = 1 << 20}, cpu(), 4096).local, (Three{64, 1, 1}));
  // 20 rows on two cores: a group a row.
  EXPECT_EQ(launch_geometry({.x = 20}, cpu(), 4096).local, (Three{1, 1, 1}));
}

TEST(LaunchGeometry, HugeRangesKeep64Bits) {
  const LaunchGeometry geometry = launch_geometry({.x = (Size{1} << 40) + 1}, any_gpu(), 1024);
  EXPECT_EQ(geometry.global, (Three{(Size{1} << 40) + 256, 1, 1}));
  EXPECT_THROW(launch_geometry({.x = std::numeric_limits<Size>::max(), .local_x = 256}, any_gpu(), 1024),
               OverflowError);
}

TEST(LaunchGeometry, NothingToDoIsEmpty) {
  EXPECT_TRUE(launch_geometry({.x = 0}, any_gpu(), 1024).empty());
  EXPECT_TRUE(launch_geometry({.x = 5, .y = 0}, any_gpu(), 1024).empty());
}

TEST(LaunchGeometry, NegativeExtentsAndTooLargeGroupsAreRefused) {
  EXPECT_THROW(launch_geometry({.x = -1}, any_gpu(), 1024), UsageError);
  EXPECT_THROW(launch_geometry({.x = 1, .local_x = -1}, any_gpu(), 1024), UsageError);
  EXPECT_THROW(launch_geometry({.x = 64, .local_x = 64, .local_y = 32}, any_gpu(), 1024), UsageError);
}

}  // namespace
}  // namespace peakmark
