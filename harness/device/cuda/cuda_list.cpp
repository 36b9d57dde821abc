#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "device/backends.hpp"
#include "device/cuda/cuda_error.hpp"

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

}  // namespace

std::string cuda_absence(cudaError_t result, int driver_version) {
  if (result == cudaErrorStubLibrary) {
    return "cuda: libcuda.so.1 is the toolkit's stub, to link with, and no NVIDIA driver";
  }
  if (driver_version == 0) return "cuda: there is no NVIDIA driver here";
  if (result == cudaErrorInsufficientDriver) {
    return fmt::format(
        "cuda: the NVIDIA driver is for CUDA {}, and this peakmark needs {}: update the driver",
        version_text(driver_version), version_text(CUDART_VERSION));
  }
  if (result == cudaSuccess || result == cudaErrorNoDevice) {
    return "cuda: the NVIDIA driver sees no device; CUDA_VISIBLE_DEVICES, or the container, may hide it";
  }
  return fmt::format("cuda: {} ({}); is the NVIDIA driver loaded and visible here?",
                     cudaGetErrorString(result), static_cast<int>(result));
}

void list_cuda(DeviceList& list) {
  // Without a driver the runtime answers and does not write the count.
  int count = 0;
  int driver = 0;  // and so it stays where there is none
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

}  // namespace peakmark
