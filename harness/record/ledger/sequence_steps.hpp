#pragma once

#include <vector>

#include "record/ledger/allocation_sequence.hpp"

// A sequence of allocations, walked step by step.
namespace peakmark {

/// An allocation of a sequence, or its release.
struct SequenceStep {
  Size step = 0;
  std::size_t allocation = 0;  ///< index into the sequence
  bool is_release = false;
};
/// Returns all allocations and releases in the order of their steps.
std::vector<SequenceStep> sequence_steps(const AllocationSequence& sequence);

/// Returns the indices of the allocations that are live when the peak is first reached, in order.
std::vector<std::size_t> live_at_peak(const AllocationSequence& sequence);

}  // namespace peakmark
