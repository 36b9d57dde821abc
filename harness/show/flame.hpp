#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ledger/ledger.hpp"
#include "show/call_frames.hpp"

namespace peakmark {

/// A node of a flame graph: what was allocated under it.
struct FlameNode {
  std::string name;
  Size bytes = 0;
  std::int64_t count = 0;
  std::vector<FlameNode> children;  ///< largest first
};

/// The allocations as paths from the root: from the outermost caller down to the innermost and the
/// allocation's name or kind; where there are no stacks from phase and kind to name. Nodes below a `part`-th
/// of all bytes are summed to one beside their siblings.
FlameNode flame_of(const std::vector<Allocation>& allocations,
                   const std::map<std::uint64_t, std::vector<CallFrame>>& stacks, Size part);

}  // namespace peakmark
