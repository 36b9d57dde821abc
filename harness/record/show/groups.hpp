#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/ledger/ledger.hpp"
#include "record/show/process_tree.hpp"

namespace peakmark {

/// Allocations of one name, kind and phase, as one line of a table.
struct AllocationGroup {
  std::string name;
  std::string phase;
  MemoryKind kind = MemoryKind::none;
  Size bytes = 0;
  std::int64_t count = 0;
  Size largest_bytes = 0;  ///< of the largest of them
};

/// Returns the groups, the largest first; of equals in the order in which they first appear.
std::vector<AllocationGroup> group(const std::vector<Allocation>& allocations);

/// Returns the bytes of a kind that were live at the peak; null for a kind that does not count into the peak,
/// since its live bytes at that moment are unknown.
std::optional<Size> bytes_at_peak(const LedgerSummary& summary, MemoryKind kind);

/// A group of one process of a tree.
struct ProcessGroup {
  std::int32_t pid = 0;
  AllocationGroup group;
};

/// Returns the groups of all processes of a tree, whose allocations come from merged events.
std::vector<ProcessGroup> group_by_process(const RecordedTree& tree,
                                           const std::vector<Allocation>& allocations);

/// The phases of one name, which a loop may enter many times.
struct PhaseGroup {
  std::string name;
  std::int64_t times = 0;
  Size peak_bytes = 0;         ///< maximum over all of them
  Size live_at_end_bytes = 0;  ///< of the last of them
  std::int64_t allocations = 0;
  std::int64_t failed_allocations = 0;
};

/// Returns the groups in the order in which the names first appear. Leaves out the time before the first mark
/// if nothing happened in it.
std::vector<PhaseGroup> group_phases(const std::vector<PhaseSummary>& phases);

}  // namespace peakmark
