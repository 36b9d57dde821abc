#include "device/cuda/launch_shape.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "device/launch_geometry.hpp"

namespace peakmark {
namespace {

constexpr Size kThreadsMost = 1024;
constexpr Size kThreadsAlongZ = 64;
constexpr std::array<Size, 3> kBlocksMost{0x7fffffff, 65535, 65535};

}  // namespace

std::optional<LaunchShape> launch_shape(const Range& range, const DeviceInfo& device) {
  const LaunchGeometry geometry = launch_geometry(range, device, kThreadsMost);
  if (geometry.empty()) return std::nullopt;
  if (geometry.local[2] > kThreadsAlongZ) {
    throw UsageError(fmt::format("a work-group of {} items along z: CUDA takes at most {}", geometry.local[2],
                                 kThreadsAlongZ));
  }
  std::array<std::uint32_t, 3> grid{};
  for (std::size_t i = 0; i < 3; ++i) {
    const Size blocks = geometry.global[i] / geometry.local[i];
    if (blocks > kBlocksMost[i]) {
      throw UsageError(
          fmt::format("{} work-items along {} in groups of {} are {} groups: CUDA launches at most {}",
                      geometry.global[i], "xyz"[i], geometry.local[i], blocks, kBlocksMost[i]));
    }
    grid[i] = static_cast<std::uint32_t>(blocks);
  }
  return LaunchShape{.block_x = static_cast<std::uint32_t>(geometry.local[0]),
                     .block_y = static_cast<std::uint32_t>(geometry.local[1]),
                     .block_z = static_cast<std::uint32_t>(geometry.local[2]),
                     .grid_x = grid[0],
                     .grid_y = grid[1],
                     .grid_z = grid[2]};
}

}  // namespace peakmark
