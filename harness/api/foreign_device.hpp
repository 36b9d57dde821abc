#pragma once

#include "device/device.hpp"
#include "peakmark/worker_seam.h"

namespace peakmark {

/// The device as programs see it. It points to the device, which must outlive it.
peakmark_device seam_of(Device& device);

}  // namespace peakmark
