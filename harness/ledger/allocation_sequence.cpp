#include "ledger/allocation_sequence.hpp"

#include <algorithm>
#include <map>

namespace peakmark {

Size peak_bytes(const AllocationSequence& sequence) {
  std::map<Size, Size> changes;  // by step
  for (const SequencedAllocation& allocation : sequence) {
    changes[allocation.allocated_at] = allocation.bytes;
    if (allocation.released_at) changes[*allocation.released_at] = -allocation.bytes;
  }
  Size live = 0;
  Size peak = 0;
  for (const auto& [step, change] : changes) peak = std::max(peak, live = checked_add(live, change));
  return peak;
}

}  // namespace peakmark
