#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "measure/runfile/observation.hpp"
#include "record/ledger/allocation_sequence.hpp"
#include "record/ledger/ledger.hpp"
#include "record/ledger/repetitions.hpp"

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
  std::optional<AllocationSequence> sequence;  ///< null if it was not requested, or is too long
  bool is_sequence_too_long = false;
};

/// Returns the figures that do not depend on calls: peak, allocations at the peak, kinds, pools.
MemoryPass to_memory_pass(const LedgerSummary& summary);

/// Adds the sequence of allocations. `events`: those from which the peak was computed.
void add_sequence(MemoryPass& pass, std::span<const Event> events, const CallChain& call_chain,
                  const ProcessName& process_name = nullptr);

/// Sets the figures of the first pass, the peak of the second, and the allocations that differ if the peaks
/// do. Adds a note to the message if a sequence is too long, or differs between the passes.
void note_memory(const MemoryPass& first, const std::optional<MemoryPass>& second, Observation& observation);

/// Adds the leaks of repeated calls and the drift of their peak. If there are several phases, the number of
/// calls is that of the most frequent one.
void note_repetitions(const RepeatedPhase& phase, Observation& observation);

}  // namespace peakmark
