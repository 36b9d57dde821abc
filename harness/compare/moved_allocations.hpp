#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ledger/ledger.hpp"

namespace peakmark {

/// Allocations of one name, kind and size, of which two lists hold unequally many.
struct MovedAllocations {
  std::string name;  ///< empty: nobody named them
  MemoryKind kind = MemoryKind::none;
  Size bytes = 0;  ///< of each
  std::int64_t base_count = 0;
  std::int64_t new_count = 0;

  bool operator==(const MovedAllocations&) const = default;
};

/// The same of any number of lists.
struct MovedBetweenLists {
  std::string name;
  MemoryKind kind = MemoryKind::none;
  Size bytes = 0;                    ///< of each
  std::vector<std::int64_t> counts;  ///< a list each, in their order
};

/// What lists of allocations (what was live at the peaks of runs) do not have in common, as below.
std::vector<MovedBetweenLists> moved_between(const std::vector<const std::vector<Allocation>*>& lists);

/// What two lists of allocations (what was live at two peaks) do not have in common. An allocation has no
/// identity beyond its name, kind and size, since addresses differ from run to run. The largest difference in
/// bytes comes first; equals by name, kind, size.
std::vector<MovedAllocations> moved_allocations(const std::vector<Allocation>& base,
                                                const std::vector<Allocation>& next);

/// The same of the two memory passes of a case, as observations have it: a line each, in the same order.
std::vector<std::string> moved_between_passes(const std::vector<Allocation>& first,
                                              const std::vector<Allocation>& second);

}  // namespace peakmark
