#include "measure/device/cuda/cuda_backend.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "base/error.hpp"
#include "measure/device/backend.hpp"

namespace peakmark {
namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

DeviceInfo describe(int index, const std::string& driver) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, index),
             fmt::format("ask device {} for its properties", index));
  DeviceInfo info;
  info.backend = Backend::cuda;
  info.index = index;
  info.name = properties.name;
  info.vendor = "NVIDIA Corporation";
  info.platform = "CUDA";
  info.driver = driver;
  info.version = fmt::format("compute capability {}.{}", properties.major, properties.minor);
  info.pci = fmt::format("{:04x}:{:02x}:{:02x}", properties.pciDomainID, properties.pciBusID,
                         properties.pciDeviceID);
  info.has_f64 = true;
  info.compute_units = properties.multiProcessorCount;
  info.memory_bytes = static_cast<Size>(properties.totalGlobalMem);
  if (properties.l2CacheSize > 0) info.cache_bytes = properties.l2CacheSize;
  return info;
}

constexpr Size kMaxThreads = 1024;
constexpr Size kMaxThreadsAlongZ = 64;
constexpr std::array<Size, 3> kMaxBlocks{0x7fffffff, 65535, 65535};

}  // namespace

bool is_context_lost(cudaError_t result) {
  constexpr int kTensorMemoryLeak = 721;  // since CUDA 12.8
  constexpr int kContained = 226;         // since CUDA 12.8
  const int code = result;
  return code == cudaErrorIllegalAddress || code == cudaErrorLaunchTimeout || code == cudaErrorAssert ||
         (code >= cudaErrorHardwareStackError && code <= cudaErrorLaunchFailure) ||
         code == kTensorMemoryLeak || code == kContained || code == cudaErrorMpsClientTerminated;
}

void check_cuda(cudaError_t result, std::string_view what) {
  if (result == cudaSuccess) return;
  const std::string message = fmt::format("cuda: cannot {}: {} ({}, {})", what, cudaGetErrorString(result),
                                          cudaGetErrorName(result), static_cast<int>(result));
  if (is_context_lost(result)) {
    throw MeasurementError(message + "; the context is lost: this process cannot use the device any more");
  }
  // The runtime keeps the last error: if it is not cleared, the next launch reports it.
  cudaGetLastError();
  if (result == cudaErrorMemoryAllocation) throw OutOfMemoryError(message);
  if (result == cudaErrorNotSupported || result == cudaErrorNoKernelImageForDevice ||
      result == cudaErrorLaunchOutOfResources) {
    throw UnsupportedError(message);
  }
  throw MeasurementError(message);
}

std::string cuda_absence(cudaError_t result, int driver_version) {
  if (result == cudaErrorStubLibrary) {
    return "cuda: libcuda.so.1 is the stub of the toolkit, not an NVIDIA driver; install the driver";
  }
  if (driver_version == 0) return "cuda: no NVIDIA driver found";
  if (result == cudaErrorInsufficientDriver) {
    // A runtime works with every driver of its own or a later major version.
    constexpr int kMajor = CUDART_VERSION / 1000;
    constexpr int kOldestDriver = kMajor == 12 ? 525 : 580;
    return fmt::format(
        "cuda: the NVIDIA driver supports CUDA {}, and this peakmark needs {}.0; update the driver to {} or "
        "later{}",
        version_text(driver_version), kMajor, kOldestDriver,
        kMajor > 12 && driver_version >= 12000 ? ", or build peakmark with a toolkit of CUDA 12" : "");
  }
  if (result == cudaSuccess || result == cudaErrorNoDevice) {
    return "cuda: no CUDA device found; check CUDA_VISIBLE_DEVICES and the container";
  }
  return fmt::format("cuda: {} ({}); check that the NVIDIA driver is loaded and visible here",
                     cudaGetErrorString(result), static_cast<int>(result));
}

void list_cuda(DeviceList& list) {
  // Without a driver the runtime leaves the count unchanged.
  int count = 0;
  int driver = 0;  // stays 0 without a driver
  cudaDriverGetVersion(&driver);
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0) {
    cudaGetLastError();
    list.reasons.push_back(cuda_absence(result, driver));
    return;
  }
  for (int index = 0; index < count; ++index) {
    try {
      list.devices.push_back(describe(index, "CUDA " + version_text(driver)));
    } catch (const std::exception& error) {
      list.reasons.push_back(error.what());
    }
  }
}

std::optional<LaunchShape> launch_shape(const Range& range, const DeviceInfo& device) {
  const LaunchGeometry geometry = launch_geometry(range, device, kMaxThreads);
  if (geometry.empty()) return std::nullopt;
  if (geometry.local[2] > kMaxThreadsAlongZ) {
    throw UsageError(fmt::format("work-group too large: {} items along z; CUDA's maximum is {}",
                                 geometry.local[2], kMaxThreadsAlongZ));
  }
  std::array<std::uint32_t, 3> grid{};
  for (std::size_t i = 0; i < 3; ++i) {
    const Size blocks = geometry.global[i] / geometry.local[i];
    if (blocks > kMaxBlocks[i]) {
      throw UsageError(fmt::format(
          "launch too large: {} work-items along {} in groups of {} are {} groups; CUDA's maximum is {}",
          geometry.global[i], "xyz"[i], geometry.local[i], blocks, kMaxBlocks[i]));
    }
    grid[i] = static_cast<std::uint32_t>(blocks);
  }
  return LaunchShape{.block_x = static_cast<std::uint32_t>(geometry.local[0]),
                     .block_y = static_cast<std::uint32_t>(geometry.local[1]),
                     .block_z = static_cast<std::uint32_t>(geometry.local[2]),
                     .grid_x = grid[0],
                     .grid_y = grid[1],
                     .grid_z = grid[2]};
}

}  // namespace peakmark
