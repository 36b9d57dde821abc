#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "ledger/ledger.hpp"
#include "show/call_frames.hpp"
#include "show/process_tree.hpp"

namespace peakmark {

/// The call stacks of what was live at the peak, of what leaked and of what was refused as chains of callers,
/// by id (see caller_frames).
std::map<std::uint64_t, std::vector<CallFrame>> caller_stacks(const LedgerSummary& summary,
                                                              const Symbols& symbols);

/// The same for a process, with names from the files of its libraries where the recorder found none.
std::map<std::uint64_t, std::vector<CallFrame>> caller_stacks(const RecordedProcess& process,
                                                              const LedgerSummary& summary);

/// Allocations made at one place of the program.
struct Site {
  std::vector<std::string> frames;  ///< innermost first; empty where no stack was recorded
  Size bytes = 0;
  std::int64_t count = 0;
};

/// The same chains without wrappers, so that sites differ: an innermost frame that more than half of all
/// chains share, with different callers, is left out, such as `Array.__init__` of pyopencl.
std::map<std::uint64_t, std::vector<CallFrame>> without_wrappers(
    std::map<std::uint64_t, std::vector<CallFrame>> stacks);

/// Sums the allocations by where they were made, largest first: by that many innermost frames of the chain,
/// which are Python's where there is Python, and then the native one that Python called stands behind them.
std::vector<Site> sites_of(const std::vector<Allocation>& allocations,
                           const std::map<std::uint64_t, std::vector<CallFrame>>& stacks, std::size_t frames);

/// What the driver refused in this process, with the frames of its call site, as many as asked for. Requests
/// of one site are together, though their stacks differ.
std::vector<RefusedAllocation> refused_by_site(const RecordedProcess& process, const LedgerSummary& summary,
                                               std::size_t frames);

/// Of all processes, largest first.
std::vector<RefusedAllocation> refused_by_site(const RecordedTree& tree, std::size_t frames);

}  // namespace peakmark
