#include "device/cuda/launch_shape.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

constexpr Size kThreadsDefault = 256;
constexpr Size kThreadsMost = 1024;
constexpr Size kBlocksAlongX = 0x7fffffff;
constexpr Size kBlocksAlongYZ = 65535;

std::uint32_t blocks(char axis, Size global, Size local, Size most) {
  if (global < 1) throw UsageError(fmt::format("a launch of {} work-items along {}", global, axis));
  const Size count = global / local + (global % local != 0 ? 1 : 0);
  if (count > most) {
    throw UsageError(
        fmt::format("{} work-items along {} in groups of {} are {} groups: CUDA launches at most {}", global,
                    axis, local, count, most));
  }
  return static_cast<std::uint32_t>(count);
}

}  // namespace

LaunchShape launch_shape(const Range& range) {
  if (range.local_x < 0 || range.local_y < 0 || range.local_z < 0) {
    throw UsageError("a negative local size");
  }
  const bool free_choice = range.local_x == 0 && range.local_y == 0 && range.local_z == 0;
  const Size x = range.local_x > 0 ? range.local_x : (free_choice ? kThreadsDefault : 1);
  const Size y = range.local_y > 0 ? range.local_y : 1;
  const Size z = range.local_z > 0 ? range.local_z : 1;
  if (x > kThreadsMost || y > kThreadsMost || z > kThreadsMost || x * y * z > kThreadsMost) {
    throw UsageError(
        fmt::format("a group of {} × {} × {} work-items: CUDA takes at most {}", x, y, z, kThreadsMost));
  }
  return {.block_x = static_cast<std::uint32_t>(x),
          .block_y = static_cast<std::uint32_t>(y),
          .block_z = static_cast<std::uint32_t>(z),
          .grid_x = blocks('x', range.x, x, kBlocksAlongX),
          .grid_y = blocks('y', range.y, y, kBlocksAlongYZ),
          .grid_z = blocks('z', range.z, z, kBlocksAlongYZ)};
}

}  // namespace peakmark
