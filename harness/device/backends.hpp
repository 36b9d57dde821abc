#pragma once

#include <memory>

#include "device/device.hpp"

namespace peakmark {

// The door of each backend. `list_…` appends its devices, or one reason why it has none, and never throws for
// want of a driver. `open_…` throws DeviceError when the device of this index has gone.

void list_opencl(DeviceList& list);
std::unique_ptr<Device> open_opencl(const DeviceInfo& info);

void list_cuda(DeviceList& list);
std::unique_ptr<Device> open_cuda(const DeviceInfo& info);

}  // namespace peakmark
