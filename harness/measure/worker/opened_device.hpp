#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "peakmark/worker_abi.h"

namespace peakmark {

/// A device outside a worker, for code that is written against the public API: make a Device from `abi`.
struct OpenedDevice {
  std::shared_ptr<void> owner;
  peakmark_device abi;  ///< valid as long as `owner`
  std::string platform;
  std::string driver;
};

/// Opens the device that DeviceChoice describes. `backend`: empty for the best device. Throws DeviceError if
/// there is no such device, UsageError for an unknown backend.
OpenedDevice open_for_public_api(std::string_view backend = {}, const std::string& device = {});

}  // namespace peakmark
