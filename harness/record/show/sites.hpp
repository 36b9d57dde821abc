#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "record/ledger/ledger.hpp"
#include "record/profile/call_frames.hpp"
#include "record/show/process_tree.hpp"

namespace peakmark {

/// Names of functions from the symbol tables of programs and libraries. The recorder gets names from the
/// loader, which knows only exported functions; the symbol table of a program's file has its other functions,
/// too.
class ElfSymbols {
 public:
  /// A file that was changed after `newest_ns` (CLOCK_REALTIME) is not the one that ran, and is not read.
  explicit ElfSymbols(std::int64_t newest_ns) : newest_ns_(newest_ns) {}

  /// Returns the linker's name of the function at this offset from the load address; empty if the file is
  /// gone, changed, stripped, or not a 64-bit ELF file of this machine's byte order.
  std::string function(const std::string& file, std::uint64_t offset);

 private:
  struct Function {
    std::uint64_t bytes;
    std::string name;
  };
  using Table = std::map<std::uint64_t, Function>;  // by offset
  Table read(const std::string& file) const;

  std::int64_t newest_ns_;
  std::map<std::string, Table> tables_;
};

/// Returns the call stacks of what was live at the peak, leaked or was refused, as chains of callers by id
/// (see caller_frames).
std::map<std::uint64_t, std::vector<CallFrame>> caller_stacks(const LedgerSummary& summary,
                                                              const Symbols& symbols);

/// Returns the same for a process, with names from the files of its libraries if the recorder found none.
std::map<std::uint64_t, std::vector<CallFrame>> caller_stacks(const RecordedProcess& process,
                                                              const LedgerSummary& summary);

/// Maps the id of each call stack to the frames of its site: the site itself, then the frames that it called;
/// if a number of frames is given, the innermost lines of Python, then native frames.
using SiteNames = std::map<std::uint64_t, std::vector<std::string>>;

/// Returns the sites of these stacks (name_sites()). `bytes`: allocated through each stack; 0 if a stack is
/// missing. Remarks of the recorder follow the frames.
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

/// Returns the requests that the driver or the budget refused, with the frames of their sites. Requests of
/// one site are one entry, even if their stacks differ.
std::vector<RefusedAllocation> refused_by_site(const std::vector<RefusedAllocation>& refused,
                                               const SiteNames& names);
/// Returns the same for a process, whose sites are named by this number of frames (name_sites()).
std::vector<RefusedAllocation> refused_by_site(const RecordedProcess& process, const LedgerSummary& summary,
                                               std::size_t frames);

/// Returns the same for all processes, the largest first.
std::vector<RefusedAllocation> refused_by_site(const RecordedTree& tree);

}  // namespace peakmark
