#pragma once

#include "device/device.hpp"
#include "peakmark/worker_abi.h"

namespace peakmark {

/// Returns the device as a struct of the C ABI. It points to `device`, which must outlive it.
peakmark_device abi_device(Device& device);

}  // namespace peakmark
