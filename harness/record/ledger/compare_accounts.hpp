#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/profile/event.hpp"

namespace peakmark {

/// Returns the differences of two accounts of one process, one per line: peaks, sums and counts of each kind
/// of memory, and each allocation that only one of them has. Kinds that activity records do not distinguish
/// are counted together: pitched with device memory, registered with pinned host memory, physical with device
/// memory. Empty if they agree to the byte.
std::vector<std::string> compare_accounts(std::span<const Event> callbacks, std::span<const Event> records);

}  // namespace peakmark
