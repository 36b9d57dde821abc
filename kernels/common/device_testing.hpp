#pragma once

// For tests of code that takes the public Device. Tests of variants use variant_testing.hpp; the two cannot
// be included in one file, since harness/device has classes of the same names.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/common/arrays.hpp"
#include "kernels/common/tested_device.hpp"
#include "peakmark/worker/device.hpp"
#include "peakmark/worker_abi.h"

namespace peakmark::testing_variants {

/// Opens a device of the harness. `abi` is valid as long as the returned object.
std::shared_ptr<void> open_harness_device(std::string_view backend, Grain grain,
                                          std::optional<Size> compute_units, peakmark_device& abi);

/// Opens the device of these tests, with kernels of this grain. `compute_units`: instead of the device's own.
inline std::shared_ptr<Device> open_tested(Grain grain, std::optional<Size> compute_units = std::nullopt,
                                           std::string_view backend = kTestedBackendName) {
  struct Opened {
    explicit Opened(std::shared_ptr<void> harness_device, const peakmark_device& abi)
        : owner(std::move(harness_device)), device(abi) {}
    std::shared_ptr<void> owner;
    Device device;
  };
  peakmark_device abi{};
  std::shared_ptr<void> owner = open_harness_device(backend, grain, compute_units, abi);
  const auto opened = std::make_shared<Opened>(std::move(owner), abi);
  return {opened, &opened->device};
}

}  // namespace peakmark::testing_variants
