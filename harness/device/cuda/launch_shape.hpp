#pragma once

#include <cstdint>
#include <optional>

#include "device/device.hpp"

namespace peakmark {

/// Threads a block and blocks a grid along x, y, z.
struct LaunchShape {
  std::uint32_t block_x = 1, block_y = 1, block_z = 1;
  std::uint32_t grid_x = 1, grid_y = 1, grid_z = 1;
};

/// The launch that covers `range`, rounded up to whole blocks; null for a range without work-items. Throws
/// UsageError for a range beyond CUDA's grid (2³¹ − 1 blocks along x, 65,535 along y and z) or block (1024
/// threads, 64 along z).
std::optional<LaunchShape> launch_shape(const Range& range, const DeviceInfo& device);

}  // namespace peakmark
