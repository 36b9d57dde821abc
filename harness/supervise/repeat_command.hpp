#pragma once

#include <string>

#include "supervise/sweep_run.hpp"

namespace peakmark {

/// The command line that measures this one case again, on the same device, into a run file of its own; quoted
/// for a shell.
std::string repeat_command(const SweepOptions& options, const DeviceInfo& device, const PlannedCase& planned);

}  // namespace peakmark
