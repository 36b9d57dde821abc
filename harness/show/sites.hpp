#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "ledger/ledger.hpp"
#include "profile/call_frames.hpp"
#include "show/process_tree.hpp"

namespace peakmark {

/// Returns the call stacks of what was live at the peak, leaked or was refused, as chains of callers by id
/// (see caller_frames).
std::map<std::uint64_t, std::vector<CallFrame>> caller_stacks(const LedgerSummary& summary,
                                                              const Symbols& symbols);

/// Returns the same of a process, with names from the files of its libraries if the recorder found none.
std::map<std::uint64_t, std::vector<CallFrame>> caller_stacks(const RecordedProcess& process,
                                                              const LedgerSummary& summary);

/// Allocations that were made at one place of the program.
struct Site {
  std::vector<std::string> frames;  ///< innermost first; empty if no stack was recorded
  Size bytes = 0;
  std::int64_t count = 0;
  Size largest_bytes = 0;  ///< of one allocation
};

/// Returns the chains without wrappers (count_wrappers()), so that sites differ: lines of Python if a chain
/// has any, and native_frames(). `bytes`: what was allocated through each chain; 0 if it is not there.
std::map<std::uint64_t, std::vector<CallFrame>> without_wrappers(
    std::map<std::uint64_t, std::vector<CallFrame>> stacks, const std::map<std::uint64_t, double>& bytes);

/// Returns the bytes that were live at the peak or leaked by their stacks.
std::map<std::uint64_t, double> bytes_by_stack(const LedgerSummary& summary);

/// Returns the allocations by site, the largest first. A site is that many innermost frames of the chain:
/// Python's if there are any, followed by as many native_frames() that Python called. `with_own_line`: and
/// own_frame().
std::vector<Site> sites_of(const std::vector<Allocation>& allocations,
                           const std::map<std::uint64_t, std::vector<CallFrame>>& stacks, std::size_t frames,
                           bool with_own_line = false);

/// Returns what the driver or the budget refused in this process, with that many frames of its call site,
/// behind wrappers if these are to be skipped. Requests of one site are one entry, even if their stacks
/// differ.
std::vector<RefusedAllocation> refused_by_site(const RecordedProcess& process, const LedgerSummary& summary,
                                               std::size_t frames, bool skips_wrappers = false);

/// Returns the same of all processes, the largest first.
std::vector<RefusedAllocation> refused_by_site(const RecordedTree& tree, std::size_t frames);

}  // namespace peakmark
