#pragma once

#include "device/device.hpp"
#include "peakmark/worker_abi.h"

namespace peakmark {

/// The device as programs see it. It points to the device, which must outlive it.
peakmark_device abi_of(Device& device);

}  // namespace peakmark
