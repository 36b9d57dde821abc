#include "api/abi_device.hpp"
#include "base/size.hpp"
#include "device/device.hpp"
#include "device/dry/dry_device.hpp"
#include "kernels/common/tested_device.hpp"

namespace peakmark::testing_variants {

// Declared in device_testing.hpp, which has the public Device.
std::shared_ptr<void> open_harness_device(std::string_view backend, Grain grain,
                                          std::optional<Size> compute_units, peakmark_device& abi);

std::shared_ptr<void> open_harness_device(std::string_view backend, Grain grain,
                                          std::optional<Size> compute_units, peakmark_device& abi) {
  DeviceInfo info = choose_device({.backend = parse_backend(backend), .device = {}}, list_devices());
  info.is_cpu = grain == Grain::cpu;
  if (compute_units) info.compute_units = *compute_units;
  std::shared_ptr<Device> device = open_device(info);
  abi = abi_device(*device);
  return device;
}

}  // namespace peakmark::testing_variants
