#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ledger/ledger.hpp"

namespace peakmark {

/// The phases of one name, which a loop may enter many times.
struct PhaseGroup {
  std::string name;
  std::int64_t times = 0;
  Size peak_bytes = 0;         ///< the most of all
  Size live_at_end_bytes = 0;  ///< of the last
  std::int64_t allocations = 0;
  std::int64_t failed_allocations = 0;
};

/// In the order in which the names first appear. The time before the first mark, where nothing happened in
/// it, is left out.
std::vector<PhaseGroup> group_phases(const std::vector<PhaseSummary>& phases);

}  // namespace peakmark
