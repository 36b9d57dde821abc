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
  return info;
}

}  // namespace

void list_cuda(DeviceList& list) {
  // Without a driver the runtime answers and does not write the count.
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0) {
    cudaGetLastError();
    list.reasons.push_back(result == cudaSuccess
                               ? "CUDA: the driver sees no device"
                               : fmt::format("CUDA: {} ({}); is NVIDIA's driver loaded and visible here?",
                                             cudaGetErrorString(result), static_cast<int>(result)));
    return;
  }
  int driver = 0;
  cudaDriverGetVersion(&driver);
  for (int index = 0; index < count; ++index) {
    try {
      list.devices.push_back(describe(index, "CUDA " + version_text(driver)));
    } catch (const std::exception& error) {
      list.reasons.push_back(error.what());
    }
  }
}

}  // namespace peakmark
