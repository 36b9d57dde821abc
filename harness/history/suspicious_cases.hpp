#pragma once

#include <string>
#include <vector>

#include "runfile/run_file.hpp"
#include "trend/series.hpp"

namespace peakmark::history {

/// A run that is not in the history yet, as the newest night of its device: the cases whose times look other
/// than before. `device`: as the history calls the run's. None where the history does not know the device.
std::vector<std::string> suspicious_cases(std::vector<trend::DeviceHistory> devices,
                                          const std::string& device, const Run& run);

}  // namespace peakmark::history
