#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ledger/ledger.hpp"
#include "runfile/observation.hpp"

namespace peakmark {

/// The figures of one memory pass of a case. Unknown is null.
struct MemoryPass {
  Size peak_bytes = 0;
  std::optional<Size> first_call_peak_bytes;  ///< from the start of setup to the end of the first call
  std::optional<Size> setup_bytes;
  std::optional<Size> input_bytes;
  std::optional<Size> output_bytes;
  std::int64_t allocations = 0;
  std::vector<Allocation> at_peak;
  std::map<MemoryKind, KindSummary> by_kind;
  std::optional<Size> pool_reserved_peak_bytes;
};

/// Returns the figures that do not depend on calls: peak, allocations at the peak, kinds, pools.
MemoryPass to_memory_pass(const LedgerSummary& summary);

/// Sets the figures of the first pass, the peak of the second, and the allocations that differ if the peaks
/// do.
void note_memory(const MemoryPass& first, const std::optional<MemoryPass>& second, Observation& observation);

}  // namespace peakmark
