#pragma once

// For tests that need a CUDA device: `ci/gpu-check` runs them.

#include <memory>

#include "device/device.hpp"

namespace peakmark::testing_variants {

/// The first one. DeviceError where there is none.
inline std::unique_ptr<Device> cuda_device() {
  return open_device(choose_device({.backend = Backend::cuda, .device = "0"}, list_devices()));
}

}  // namespace peakmark::testing_variants
