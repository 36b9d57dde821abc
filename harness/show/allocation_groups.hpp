#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ledger/ledger.hpp"
#include "show/process_tree.hpp"

namespace peakmark {

/// Allocations of one name, kind and phase, as one line of a table.
struct AllocationGroup {
  std::string name;
  std::string phase;
  MemoryKind kind = MemoryKind::none;
  Size bytes = 0;
  std::int64_t count = 0;
  Size largest_bytes = 0;  ///< of one of them
};

/// Largest first; equals in the order in which they first appear.
std::vector<AllocationGroup> group(const std::vector<Allocation>& allocations);

/// Of one process, among those of a tree.
struct ProcessGroup {
  std::int32_t pid = 0;
  AllocationGroup group;
};

/// The same of all processes of a tree together, whose allocations come from merged events.
std::vector<ProcessGroup> group_by_process(const RecordedTree& tree,
                                           const std::vector<Allocation>& allocations);

}  // namespace peakmark
