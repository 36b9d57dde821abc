#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace peakmark {

/// Asks an OpenCL device for a value of exactly `bytes`; false where it does not answer.
using OpenClQuery = std::function<bool(unsigned what, std::size_t bytes, void* value)>;

/// `0000:3b:00`: domain, bus and device in hex, as CUDA and NVML give it. `extensions`: of the device. Empty
/// where it has none of cl_khr_pci_bus_info, cl_nv_device_attribute_query and cl_amd_device_attribute_query,
/// or does not answer.
std::string pci_address(std::string_view extensions, const OpenClQuery& query);

}  // namespace peakmark
