#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ledger/ledger.hpp"

namespace peakmark {

/// Allocations of one name, kind and phase, as one line of a table.
struct AllocationGroup {
  std::string name;
  std::string phase;
  MemoryKind kind = MemoryKind::none;
  Size bytes = 0;
  std::int64_t count = 0;
};

/// Largest first; equals in the order in which they first appear.
std::vector<AllocationGroup> group(const std::vector<Allocation>& allocations);

}  // namespace peakmark
