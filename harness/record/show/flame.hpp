#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/ledger/ledger.hpp"
#include "record/profile/call_frames.hpp"

namespace peakmark {

/// A node of a flame graph: the allocations below it.
struct FlameNode {
  std::string name;
  Size bytes = 0;
  std::int64_t count = 0;
  std::vector<FlameNode> children;  ///< largest first
};

/// Returns the allocations as paths from the root: from the outermost caller to the innermost and the
/// allocation's name or kind; without call stacks, from phase and kind to name. Siblings with less than a
/// `part`-th of all bytes become one node.
FlameNode flame_graph(const std::vector<Allocation>& allocations,
                      const std::map<std::uint64_t, std::vector<CallFrame>>& stacks, Size part);

}  // namespace peakmark
