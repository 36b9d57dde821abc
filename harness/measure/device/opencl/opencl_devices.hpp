#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/device/device.hpp"
#include "measure/device/opencl/opencl_api.hpp"

namespace peakmark {

struct OpenClDeviceEntry {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  DeviceInfo info;
};

struct OpenClDevices {
  std::vector<OpenClDeviceEntry> entries;  ///< `info.index` is the index in this list
  /// Why a platform has no device or lacks one, with the platform, such as `opencl, platform NAME: …`.
  std::vector<std::string> reasons;
};

/// Returns the devices of all platforms in the loader's order, without those of a PoCL that cannot use its
/// cache folder (pocl_cache_error). A platform that fails leaves the others in the list. Throws DeviceError
/// if OpenCL is absent.
OpenClDevices opencl_devices();

/// Returns the free memory by AMD's extension; null on other devices, because OpenCL has no such query.
std::optional<Size> opencl_free_memory(cl_device_id device);

/// Queries a value of exactly `bytes` from a device; false if the device does not support the query.
using OpenClQuery = std::function<bool(unsigned what, std::size_t bytes, void* value)>;

/// Returns domain, bus and device in hex, such as `0000:3b:00`, in the form of CUDA and NVML. `extensions`:
/// those of the device. Empty if it supports none of cl_khr_pci_bus_info, cl_nv_device_attribute_query and
/// cl_amd_device_attribute_query.
std::string pci_address(std::string_view extensions, const OpenClQuery& query);

/// Returns an error message if PoCL cannot write its cache folder or load code from it, else an empty string.
/// PoCL compiles kernels into this folder. If it cannot write it, it reports no device and no reason; if it
/// cannot load a kernel, it ends the process. The folder is POCL_CACHE_DIR, else
/// XDG_CACHE_HOME/pocl/kcache, else HOME/.cache/pocl/kcache
/// (https://portablecl.org/docs/html/env_variables.html).
std::string pocl_cache_error();

/// Sets POCL_WORK_GROUP_METHOD=cbs in this process if the device needs it (rereads_after_barriers in
/// measure/device/doctor.hpp) and the user has set no method. PoCL reads the variable when it compiles a
/// kernel.
void choose_pocl_method(const DeviceInfo& device);

}  // namespace peakmark
