#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "record/ledger/ledger.hpp"
#include "record/profile/call_frames.hpp"
#include "record/show/process_tree.hpp"

namespace peakmark {

/// Returns the call stacks of what was live at the peak, leaked or was refused, as chains of callers by id
/// (see caller_frames).
std::map<std::uint64_t, std::vector<CallFrame>> caller_stacks(const LedgerSummary& summary,
                                                              const Symbols& symbols);

/// Returns the same of a process, with names from the files of its libraries if the recorder found none.
std::map<std::uint64_t, std::vector<CallFrame>> caller_stacks(const RecordedProcess& process,
                                                              const LedgerSummary& summary);

/// The site of each call stack by its id: its frames, the site itself first, then what it called; with a
/// number of frames the innermost lines of Python first, then native ones.
using SiteNames = std::map<std::uint64_t, std::vector<std::string>>;

/// Returns the sites of these stacks (name_sites()). `bytes`: what was allocated through each; 0 if it is not
/// there. Behind the frames are the remarks of the recorder.
SiteNames name_sites(const std::map<std::uint64_t, std::vector<CallFrame>>& stacks,
                     const std::map<std::uint64_t, double>& bytes, std::size_t frames);

/// Returns the sites of what a process held at the peak, leaked or was refused; empty without call stacks.
SiteNames name_sites(const RecordedProcess& process, const LedgerSummary& summary, std::size_t frames);

/// Allocations that were made at one place of the program.
struct Site {
  std::vector<std::string> frames;  ///< as in SiteNames; empty if no stack was recorded
  Size bytes = 0;
  std::int64_t count = 0;
  Size largest_bytes = 0;  ///< of one allocation
};

/// Returns the allocations by site, the largest first.
std::vector<Site> sites_of(const std::vector<Allocation>& allocations, const SiteNames& names);

/// Returns what the driver or the budget refused, with the frames of its site. Requests of one site are one
/// entry, even if their stacks differ.
std::vector<RefusedAllocation> refused_by_site(const std::vector<RefusedAllocation>& refused,
                                               const SiteNames& names);
/// The same of a process, whose sites are named by this number of frames (name_sites()).
std::vector<RefusedAllocation> refused_by_site(const RecordedProcess& process, const LedgerSummary& summary,
                                               std::size_t frames);

/// Returns the same of all processes, the largest first.
std::vector<RefusedAllocation> refused_by_site(const RecordedTree& tree);

}  // namespace peakmark
