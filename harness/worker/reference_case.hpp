#pragma once

#include <optional>

#include "device/device.hpp"
#include "worker/stopping_rule.hpp"

namespace peakmark {

/// ns of the reference case, a device copy of 64 MiB: measured first and last, it says whether the machine
/// kept its pace. Null on `dry`.
std::optional<double> time_reference_case(Device& device, const StoppingOptions& options);

}  // namespace peakmark
