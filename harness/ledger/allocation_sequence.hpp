#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// One allocation of a recorded case that counts into the peak: what it is and how long it was live. Steps
/// count the allocations and releases of the case from 0.
struct SequencedAllocation {
  std::string name;   ///< as the program named it; empty where it did not
  std::string phase;  ///< in which it was made
  std::string where;  ///< call site, `FILE:LINE` without folders; empty where stacks were not recorded
  Size bytes = 0;
  Size allocated_at = 0;            ///< step
  std::optional<Size> released_at;  ///< step; nothing: live at the end
  bool is_repeated = true;          ///< the second memory pass made the same allocation
  bool operator==(const SequencedAllocation&) const = default;
};
/// The allocations of a case in the order in which they were made.
using AllocationSequence = std::vector<SequencedAllocation>;

/// A run file has no longer sequences: they are left out, and the case has a note.
inline constexpr std::size_t kMaxSequencedAllocations = 100'000;

/// Returns the most bytes that are live at one time.
Size peak_bytes(const AllocationSequence& sequence);

}  // namespace peakmark
