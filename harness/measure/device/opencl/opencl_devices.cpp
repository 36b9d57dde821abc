#include "measure/device/opencl/opencl_devices.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/opencl_drivers.hpp"
#include "measure/device/backend.hpp"
#include "measure/device/doctor.hpp"

namespace peakmark {
namespace {

// The numbers are from the specifications of the extensions, because CL/cl_ext.h of older systems lacks some.
constexpr unsigned kPciBusInfoKhr = 0x410F;
constexpr unsigned kPciBusNv = 0x4008;
constexpr unsigned kPciSlotNv = 0x4009;
constexpr unsigned kPciDomainNv = 0x400A;
constexpr unsigned kTopologyAmd = 0x4037;
constexpr std::uint32_t kTopologyTypePcieAmd = 1;

std::string format_address(std::uint32_t domain, std::uint32_t bus, std::uint32_t device) {
  return fmt::format("{:04x}:{:02x}:{:02x}", domain, bus, device);
}

std::string khr_address(const OpenClQuery& query) {
  struct {
    std::uint32_t domain, bus, device, function;
  } info{};
  if (!query(kPciBusInfoKhr, sizeof info, &info)) return {};
  return format_address(info.domain, info.bus, info.device);
}

std::string nvidia_address(const OpenClQuery& query) {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t slot = 0;  // device and function
  if (!query(kPciBusNv, sizeof bus, &bus) || !query(kPciSlotNv, sizeof slot, &slot) ||
      !query(kPciDomainNv, sizeof domain, &domain)) {
    return {};
  }
  return format_address(domain, bus, slot >> 3);
}

/// Returns the address. This extension has no domain.
std::string amd_address(const OpenClQuery& query) {
  struct {
    std::uint32_t type;
    std::array<std::uint8_t, 17> unused;
    std::uint8_t bus, device, function;
  } topology{};
  static_assert(sizeof topology == 24);
  if (!query(kTopologyAmd, sizeof topology, &topology) || topology.type != kTopologyTypePcieAmd) return {};
  return format_address(0, topology.bus, topology.device);
}

std::filesystem::path variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns PoCL's cache folder; empty if no variable is set.
std::filesystem::path cache_folder() {
  if (auto named = variable("POCL_CACHE_DIR"); !named.empty()) return named;
  if (const auto cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache / "pocl" / "kcache";
  const auto home = variable("HOME");
  return home.empty() ? home : home / ".cache" / "pocl" / "kcache";
}

/// Returns the folder, or its nearest parent that exists: PoCL creates the rest.
std::filesystem::path existing_part(std::filesystem::path folder) {
  std::error_code ignored;
  while (!std::filesystem::exists(folder, ignored) && folder.has_parent_path() &&
         folder != folder.parent_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

bool is_writable(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::is_directory(folder, ignored) && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

bool is_mounted_noexec(const std::filesystem::path& folder) {
  struct statvfs facts {};
  return ::statvfs(folder.c_str(), &facts) == 0 && (facts.f_flag & ST_NOEXEC) != 0;
}

// Extension: cl_amd_device_attribute_query.
constexpr cl_device_info kGlobalFreeMemoryAmd = 0x4039;

template <typename Query>
std::string query_text(Query query) {
  std::size_t bytes = 0;
  if (query(std::size_t{0}, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (query(bytes, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string query_text(cl_device_id device, cl_device_info what) {
  return query_text([&](std::size_t size, void* value, std::size_t* size_ret) {
    return opencl().clGetDeviceInfo(device, what, size, value, size_ret);
  });
}

std::string query_text(cl_platform_id platform, cl_platform_info what) {
  return query_text([&](std::size_t size, void* value, std::size_t* size_ret) {
    return opencl().clGetPlatformInfo(platform, what, size, value, size_ret);
  });
}

template <typename T>
T query_value(cl_device_id device, cl_device_info what, std::string_view name) {
  T value{};
  check_opencl(opencl().clGetDeviceInfo(device, what, sizeof(T), &value, nullptr), "clGetDeviceInfo",
               std::string(name));
  return value;
}

bool has_extension(cl_device_id device, std::string_view name) {
  return query_text(device, CL_DEVICE_EXTENSIONS).find(name) != std::string::npos;
}

/// OpenCL reports the size of one cache, and drivers for CPUs choose any level: the operating system knows
/// the last one.
std::optional<Size> last_level_cache(cl_device_id device, bool is_cpu) {
  Size bytes = static_cast<Size>(
      query_value<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, "CL_DEVICE_GLOBAL_MEM_CACHE_SIZE"));
  if (is_cpu) bytes = std::max(bytes, static_cast<Size>(sysconf(_SC_LEVEL3_CACHE_SIZE)));
  return bytes > 0 ? std::optional<Size>(bytes) : std::nullopt;
}

DeviceInfo device_info(cl_platform_id platform, cl_device_id device) {
  DeviceInfo info;
  info.backend = Backend::opencl;
  info.name = query_text(device, CL_DEVICE_NAME);
  info.vendor = query_text(device, CL_DEVICE_VENDOR);
  info.platform = query_text(platform, CL_PLATFORM_NAME);
  info.driver = query_text(device, CL_DRIVER_VERSION);
  info.version = query_text(device, CL_DEVICE_OPENCL_C_VERSION);
  info.pci = pci_address(query_text(device, CL_DEVICE_EXTENSIONS),
                         [&](unsigned what, std::size_t bytes, void* value) {
                           return opencl().clGetDeviceInfo(device, what, bytes, value, nullptr) == CL_SUCCESS;
                         });
  info.is_cpu =
      (query_value<cl_device_type>(device, CL_DEVICE_TYPE, "CL_DEVICE_TYPE") & CL_DEVICE_TYPE_CPU) != 0;
  // 0 means no f64, and a device that does not support the query has no f64 either.
  cl_device_fp_config doubles = 0;
  const cl_int result =
      opencl().clGetDeviceInfo(device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(doubles), &doubles, nullptr);
  info.has_f64 = result == CL_SUCCESS && doubles != 0;
  info.compute_units =
      query_value<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS, "CL_DEVICE_MAX_COMPUTE_UNITS");
  info.memory_bytes = static_cast<Size>(
      query_value<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE, "CL_DEVICE_GLOBAL_MEM_SIZE"));
  info.max_allocation_bytes = static_cast<Size>(
      query_value<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, "CL_DEVICE_MAX_MEM_ALLOC_SIZE"));
  info.cache_bytes = last_level_cache(device, info.is_cpu);
  return info;
}

std::string name_of(cl_platform_id platform) {
  return "opencl, platform " + query_text(platform, CL_PLATFORM_NAME);
}

/// Adds the devices of a platform, and the reason if there is none. Throws MeasurementError if the platform
/// fails.
void add_devices(OpenClDevices& devices, cl_platform_id platform) {
  const bool by_pocl = is_pocl_platform(query_text(platform, CL_PLATFORM_NAME));
  if (by_pocl) {
    if (const std::string error = pocl_cache_error(); !error.empty()) {
      devices.reasons.push_back(fmt::format("{}: {}", name_of(platform), error));
      return;
    }
  }
  const OpenClApi& cl = opencl();
  cl_uint count = 0;
  const cl_int found = cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  if (found == CL_DEVICE_NOT_FOUND || (found == CL_SUCCESS && count == 0)) {
    const std::string check =
        by_pocl ? fmt::format("check that PoCL can write its cache folder {}, or set POCL_CACHE_DIR",
                              cache_folder().string())
                : "check that this user and container can access the device";
    devices.reasons.push_back(fmt::format("{}: it has no device; {}", name_of(platform), check));
    return;
  }
  check_opencl(found, "clGetDeviceIDs");
  std::vector<cl_device_id> ids(count);
  check_opencl(cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr), "clGetDeviceIDs");
  for (const cl_device_id id : ids) {
    DeviceInfo info = device_info(platform, id);
    info.index = static_cast<int>(devices.entries.size());
    devices.entries.push_back({platform, id, std::move(info)});
  }
}

/// Returns why a driver has no platform; empty if the loader uses it.
std::string driver_error(const OpenclDriver& driver) {
  const char* const library = driver.library.c_str();
  if (void* const loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)) {
    dlclose(loaded);
    return {};
  }
  const std::string name = driver.named_in.empty() ? fmt::format("opencl, driver {}", driver.library)
                                                   : fmt::format("opencl, driver {} of {}", driver.library,
                                                                 driver.named_in.string());
  // The loader has tried this before, and a driver that it unloaded again may stay: some fail when they are
  // unloaded.
  if (dlopen(library, RTLD_LAZY | RTLD_LOCAL) != nullptr)
    return name + ": it offers no platform; check that its device is present, with `clinfo`";
  const char* const why = dlerror();
  return fmt::format("{}: it cannot be loaded ({}); reinstall it, or {}", name,
                     why == nullptr ? "the dynamic linker gives no reason" : why,
                     driver.named_in.empty() ? "correct the variable that names it" : "remove that file");
}

}  // namespace

std::string pci_address(std::string_view extensions, const OpenClQuery& query) {
  struct Source {
    std::string_view extension;
    std::string (*address)(const OpenClQuery&);
  };
  for (const auto& [extension, address] :
       {Source{"cl_khr_pci_bus_info", khr_address}, Source{"cl_nv_device_attribute_query", nvidia_address},
        Source{"cl_amd_device_attribute_query", amd_address}}) {
    if (extensions.find(extension) == std::string_view::npos) continue;
    if (std::string text = address(query); !text.empty()) return text;
  }
  return {};
}

std::string pocl_cache_error() {
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return {};
  const std::filesystem::path existing = existing_part(folder);
  if (!is_writable(existing))
    return fmt::format("PoCL cannot write its cache folder: {}; set POCL_CACHE_DIR to a writable folder",
                       folder.string());
  if (is_mounted_noexec(existing))
    return fmt::format(
        "PoCL cannot load kernels from its cache folder, which is mounted noexec: {}; set POCL_CACHE_DIR to "
        "a folder of another file system",
        folder.string());
  return {};
}

void choose_pocl_method(const DeviceInfo& device) {
  if (rereads_after_barriers(device)) setenv("POCL_WORK_GROUP_METHOD", "cbs", /*overwrite=*/0);
}

OpenClDevices opencl_devices() {
  const OpenClApi& cl = opencl();
  OpenClDevices devices;
  cl_uint count = 0;
  const cl_int listed = cl.clGetPlatformIDs(0, nullptr, &count);
  // Without a driver, loaders return this code or 0 platforms.
  constexpr cl_int kPlatformNotFound = -1001;
  if (listed == kPlatformNotFound) return devices;
  check_opencl(listed, "clGetPlatformIDs");
  std::vector<cl_platform_id> platforms(count);
  if (count > 0) check_opencl(cl.clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (const cl_platform_id platform : platforms) {
    try {
      add_devices(devices, platform);
    } catch (const Error& error) {
      devices.reasons.push_back(
          fmt::format("{}: {}; check its driver with `clinfo`", name_of(platform), error.what()));
    }
  }
  return devices;
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
    const OpenClDevices devices = opencl_devices();
    for (const OpenClDeviceEntry& entry : devices.entries) list.devices.push_back(entry.info);
    std::vector<std::string> reasons = devices.reasons;
    for (const OpenclDriver& driver : opencl_drivers()) {
      if (std::string error = driver_error(driver); !error.empty()) reasons.push_back(std::move(error));
    }
    if (devices.entries.empty() && reasons.empty())
      reasons.emplace_back(
          "opencl: no OpenCL device found; install a driver (ICD), such as pocl-opencl-icd for the CPU");
    list.reasons.insert(list.reasons.end(), reasons.begin(), reasons.end());
  } catch (const Error& error) {
    list.reasons.push_back(fmt::format("opencl: {}", error.what()));
  }
}

}  // namespace peakmark
