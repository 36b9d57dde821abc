#include "device/launch_geometry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace peakmark {
namespace {

constexpr Size kGroupGpu =
    256;                        // a multiple of every warp and wavefront, and small enough for full occupancy
constexpr Size kGroupCpu = 64;  // amortises the cost of starting a group
constexpr Size kGroupsPerCpuUnit = 8;

/// The largest power of two that is not above `value`, at least 1.
Size power_of_two_below(Size value) {
  Size power = 1;
  while (power <= value / 2) power *= 2;
  return power;
}

/// The smallest power of two that is not below `value`, at most `most`.
Size power_of_two_above(Size value, Size most) {
  Size power = 1;
  while (power < value && power < most) power *= 2;
  return power;
}

/// Work-items a group shall have when the choice is ours.
Size wanted_group(const Range& range, const DeviceInfo& device, Size max_group) {
  if (!device.is_cpu) return power_of_two_below(std::min(kGroupGpu, max_group));
  // On a CPU a work-item is often a whole row: a few rows a group would leave cores idle.
  const Size items = checked_multiply(checked_multiply(range.x, range.y), range.z);
  const Size groups = std::max<Size>(1, device.compute_units) * kGroupsPerCpuUnit;
  return power_of_two_below(std::min({kGroupCpu, max_group, std::max<Size>(1, items / groups)}));
}

}  // namespace

LaunchGeometry launch_geometry(const Range& range, const DeviceInfo& device, Size max_group) {
  LaunchGeometry geometry;
  geometry.global = {range.x, range.y, range.z};
  geometry.local = {range.local_x, range.local_y, range.local_z};
  for (const Size extent : {range.x, range.y, range.z, range.local_x, range.local_y, range.local_z}) {
    if (extent < 0) throw UsageError(fmt::format("a launch over {} work-items", extent));
  }
  if (geometry.empty()) return geometry;
  if (geometry.local == std::array<Size, 3>{0, 0, 0}) {
    const Size group = wanted_group(range, device, max_group);
    geometry.local[0] = power_of_two_above(range.x, group);
    geometry.local[1] = power_of_two_above(range.y, group / geometry.local[0]);
  }
  Size items = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    Size& local = geometry.local[i];
    local = std::max<Size>(1, local);
    items = checked_multiply(items, local);
    const Size groups = geometry.global[i] / local + (geometry.global[i] % local != 0 ? 1 : 0);
    geometry.global[i] = checked_multiply(groups, local);
  }
  if (items > max_group) {
    throw UsageError(fmt::format("a work-group of {} items; this kernel may have {} on {}", items, max_group,
                                 device.name));
  }
  return geometry;
}

}  // namespace peakmark
