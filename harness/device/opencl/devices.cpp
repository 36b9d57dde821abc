#include "device/opencl/devices.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "device/backends.hpp"
#include "device/opencl/failure.hpp"
#include "device/opencl/pci_address.hpp"
#include "device/opencl/pocl_cache.hpp"

namespace peakmark {
namespace {

// Extension: cl_amd_device_attribute_query.
constexpr cl_device_info kGlobalFreeMemoryAmd = 0x4039;

template <typename Query>
std::string text_of(Query query) {
  std::size_t bytes = 0;
  if (query(std::size_t{0}, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (query(bytes, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string text_of(cl_device_id device, cl_device_info what) {
  return text_of([&](std::size_t size, void* value, std::size_t* size_ret) {
    return opencl().clGetDeviceInfo(device, what, size, value, size_ret);
  });
}

std::string text_of(cl_platform_id platform, cl_platform_info what) {
  return text_of([&](std::size_t size, void* value, std::size_t* size_ret) {
    return opencl().clGetPlatformInfo(platform, what, size, value, size_ret);
  });
}

template <typename T>
T value_of(cl_device_id device, cl_device_info what, std::string_view name) {
  T value{};
  check_opencl(opencl().clGetDeviceInfo(device, what, sizeof(T), &value, nullptr), "clGetDeviceInfo",
               std::string(name));
  return value;
}

bool has_extension(cl_device_id device, std::string_view name) {
  return text_of(device, CL_DEVICE_EXTENSIONS).find(name) != std::string::npos;
}

/// OpenCL has one size for "the" cache of global memory, which drivers for CPUs take from any level: the
/// operating system knows the last one.
std::optional<Size> last_level_cache(cl_device_id device, bool is_cpu) {
  Size bytes = static_cast<Size>(
      value_of<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, "CL_DEVICE_GLOBAL_MEM_CACHE_SIZE"));
  if (is_cpu) bytes = std::max(bytes, static_cast<Size>(sysconf(_SC_LEVEL3_CACHE_SIZE)));
  return bytes > 0 ? std::optional<Size>(bytes) : std::nullopt;
}

DeviceInfo info_of(cl_platform_id platform, cl_device_id device) {
  DeviceInfo info;
  info.backend = Backend::opencl;
  info.name = text_of(device, CL_DEVICE_NAME);
  info.vendor = text_of(device, CL_DEVICE_VENDOR);
  info.platform = text_of(platform, CL_PLATFORM_NAME);
  info.driver = text_of(device, CL_DRIVER_VERSION);
  info.version = text_of(device, CL_DEVICE_OPENCL_C_VERSION);
  info.pci =
      pci_address(text_of(device, CL_DEVICE_EXTENSIONS), [&](unsigned what, std::size_t bytes, void* value) {
        return opencl().clGetDeviceInfo(device, what, bytes, value, nullptr) == CL_SUCCESS;
      });
  info.is_cpu =
      (value_of<cl_device_type>(device, CL_DEVICE_TYPE, "CL_DEVICE_TYPE") & CL_DEVICE_TYPE_CPU) != 0;
  // 0 means "no double"; a device that does not know the question has none either.
  cl_device_fp_config doubles = 0;
  const cl_int answer =
      opencl().clGetDeviceInfo(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(doubles), &doubles, nullptr);
  info.has_f64 = answer == CL_SUCCESS && doubles != 0;
  info.compute_units = value_of<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS, "CL_DEVICE_MAX_COMPUTE_UNITS");
  info.memory_bytes =
      static_cast<Size>(value_of<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE, "CL_DEVICE_GLOBAL_MEM_SIZE"));
  info.max_allocation_bytes = static_cast<Size>(
      value_of<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, "CL_DEVICE_MAX_MEM_ALLOC_SIZE"));
  info.cache_bytes = last_level_cache(device, info.is_cpu);
  return info;
}

}  // namespace

std::vector<OpenClDeviceEntry> opencl_devices() {
  const OpenClApi& cl = opencl();
  std::vector<OpenClDeviceEntry> entries;
  cl_uint count = 0;
  // Loaders answer −1001 (or 0 platforms) where no driver is installed.
  if (cl.clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return entries;
  std::vector<cl_platform_id> platforms(count);
  check_opencl(cl.clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (const cl_platform_id platform : platforms) {
    cl_uint devices = 0;
    const cl_int found = cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices);
    if (found == CL_DEVICE_NOT_FOUND || devices == 0) continue;
    check_opencl(found, "clGetDeviceIDs");
    std::vector<cl_device_id> ids(devices);
    check_opencl(cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, devices, ids.data(), nullptr),
                 "clGetDeviceIDs");
    for (const cl_device_id id : ids) {
      entries.push_back({platform, id, info_of(platform, id)});
      entries.back().info.index = static_cast<int>(entries.size()) - 1;
    }
  }
  return entries;
}

std::optional<Size> opencl_free_memory(cl_device_id device) {
  if (!has_extension(device, "cl_amd_device_attribute_query")) return std::nullopt;
  std::array<std::size_t, 2> kibibytes{};  // total free, largest free block
  if (opencl().clGetDeviceInfo(device, kGlobalFreeMemoryAmd, sizeof(kibibytes), kibibytes.data(), nullptr) !=
      CL_SUCCESS) {
    return std::nullopt;
  }
  return static_cast<Size>(kibibytes[0]) * 1024;
}

void list_opencl(DeviceList& list) {
  if (find_opencl() == nullptr) {
    list.reasons.push_back("opencl: " + opencl_absence());
    return;
  }
  try {
    const std::vector<OpenClDeviceEntry> entries = opencl_devices();
    for (const OpenClDeviceEntry& entry : entries) list.devices.push_back(entry.info);
    if (entries.empty()) {
      const std::string trouble = pocl_cache_error();
      list.reasons.push_back("opencl: the loader finds no device; is a driver (ICD) installed?" +
                             (trouble.empty() ? "" : " If it is PoCL: " + trouble));
    }
  } catch (const Error& error) {
    list.reasons.push_back(fmt::format("opencl: {}", error.what()));
  }
}

}  // namespace peakmark
