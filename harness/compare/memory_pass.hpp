#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ledger/ledger.hpp"
#include "runfile/observation.hpp"

namespace peakmark {

/// What one memory pass of a case gave, of a built-in variant or of a program. Unknown is nullopt.
struct MemoryPass {
  Size peak_bytes = 0;
  std::optional<Size> first_call_peak_bytes;  ///< from the start of set-up to the end of the first call
  std::optional<Size> setup_bytes;
  std::optional<Size> input_bytes;
  std::optional<Size> output_bytes;
  std::int64_t allocations = 0;
  std::vector<Allocation> at_peak;
  std::map<MemoryKind, KindSummary> by_kind;
  std::optional<Size> pool_reserved_peak_bytes;
};

/// Without what depends on calls: peak, what was live at it, kinds, pools.
MemoryPass memory_pass_of(const LedgerSummary& summary);

/// Notes the first pass in the observation, and of the second its peak and, where that differs, what moved.
void note_memory(const MemoryPass& first, const std::optional<MemoryPass>& second, Observation& observation);

}  // namespace peakmark
