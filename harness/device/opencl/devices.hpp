#pragma once

#include <vector>

#include "device/device.hpp"
#include "device/opencl/api.hpp"

namespace peakmark {

struct OpenClDeviceEntry {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  DeviceInfo info;
};

/// Every device of every platform, in the loader's order: `info.index` is the place in this list.
/// Throws DeviceError where OpenCL is absent.
std::vector<OpenClDeviceEntry> opencl_devices();

/// AMD's extension; null elsewhere, for OpenCL itself has no such question.
std::optional<Size> opencl_free_memory(cl_device_id device);

}  // namespace peakmark
