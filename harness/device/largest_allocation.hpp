#pragma once

#include <functional>
#include <optional>

#include "device/device.hpp"

namespace peakmark {

/// Returns the largest size that `takes` accepts, at most the memory of the device: exact if it is what the
/// driver reports, else within 1 MiB. Null if the driver reports no memory size. `takes` is called with a
/// size at most about 25 times. Pure.
std::optional<Size> largest_allocation(const DeviceInfo& device, const std::function<bool(Size)>& takes);

/// Allocates `bytes` on the device and writes the first and the last byte, since drivers may allocate lazily.
/// Returns false if the device refuses. Touches nothing in between: on a CPU the pages stay unused. Call it
/// in a process of its own, since a driver may crash.
bool try_allocation(const DeviceInfo& device, Size bytes);

}  // namespace peakmark
