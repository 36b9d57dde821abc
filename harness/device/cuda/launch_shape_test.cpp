#include "device/cuda/launch_shape.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

TEST(LaunchShape, RoundsUpToWholeBlocks) {
  const LaunchShape shape = launch_shape({.x = 257, .y = 3, .z = 2}, {}).value();
  EXPECT_EQ(shape.block_x, 256U);
  EXPECT_EQ(shape.grid_x, 2U);
  EXPECT_EQ(shape.block_y * shape.grid_y, 3U);
  EXPECT_EQ(shape.block_z * shape.grid_z, 2U);
}

TEST(LaunchShape, TakesTheLocalSizeAskedFor) {
  const LaunchShape shape =
      launch_shape({.x = 100, .y = 100, .z = 1, .local_x = 32, .local_y = 8}, {}).value();
  EXPECT_EQ(shape.block_x, 32U);
  EXPECT_EQ(shape.block_y, 8U);
  EXPECT_EQ(shape.block_z, 1U);
  EXPECT_EQ(shape.grid_x, 4U);
  EXPECT_EQ(shape.grid_y, 13U);
}

TEST(LaunchShape, CoversMoreThan32BitsOfWorkItems) {
  EXPECT_EQ(launch_shape({.x = (Size{1} << 33) + 1}, {}).value().grid_x, (1U << 25) + 1);
}

TEST(LaunchShape, NothingToDoIsNoLaunch) {
  EXPECT_FALSE(launch_shape({.x = 4, .y = 0}, {}));
}

TEST(LaunchShape, RefusesWhatCudaCannotLaunch) {
  EXPECT_NO_THROW(launch_shape({.x = Size{0x7fffffff} * 256}, {}));
  EXPECT_THROW(launch_shape({.x = Size{0x7fffffff} * 256 + 1}, {}), UsageError);
  EXPECT_NO_THROW(launch_shape({.x = 256, .y = 65535}, {}));
  EXPECT_THROW(launch_shape({.x = 256, .y = 65536}, {}), UsageError);
  EXPECT_THROW(launch_shape({.x = 1, .y = 1, .z = 65536}, {}), UsageError);
  EXPECT_THROW(launch_shape({.x = 1, .local_x = 1025}, {}), UsageError);
  EXPECT_THROW(launch_shape({.x = 1, .local_x = 64, .local_y = 64}, {}), UsageError);
  EXPECT_THROW(launch_shape({.x = 1, .local_z = 65}, {}), UsageError);
  EXPECT_THROW(launch_shape({.x = 1, .local_x = -1}, {}), UsageError);
}

}  // namespace
}  // namespace peakmark
