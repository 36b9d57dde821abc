#pragma once

#include <array>

#include "device/device.hpp"

namespace peakmark {

/// Work-items along x, y, z: `global` is a multiple of `local`.
struct LaunchGeometry {
  std::array<Size, 3> local{1, 1, 1};
  std::array<Size, 3> global{1, 1, 1};
  [[nodiscard]] bool empty() const { return global[0] == 0 || global[1] == 0 || global[2] == 0; }
};

/// Fills in the local sizes left to the backend and rounds the global ones up to them. `max_group` is the
/// most work-items a group of this kernel may have on this device. Throws UsageError for a negative extent or
/// a local size beyond `max_group`, OverflowError when rounding up leaves 64 bits.
LaunchGeometry launch_geometry(const Range& range, const DeviceInfo& device, Size max_group);

}  // namespace peakmark
