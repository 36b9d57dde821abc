#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "record/ledger/allocation_sequence.hpp"
#include "record/profile/event.hpp"
#include "record/show/process_tree.hpp"
#include "record/show/sites.hpp"

namespace peakmark {

/// The call chains of recorded call stacks. A recorder records each stack once, when it first occurs.
class CallChains {
 public:
  /// `newest_ns`: see ElfSymbols.
  explicit CallChains(std::int64_t newest_ns) : symbols_(newest_ns) {}

  /// Adds the stacks among these events.
  void add(std::span<const Event> events);
  /// Adds the stacks that were recorded since the last call. Call it with one source only.
  void add_new(EventSource& source);
  /// Returns the call chain of a stack; empty if it is not known.
  std::string chain(std::uint64_t stack);

 private:
  ElfSymbols symbols_;
  std::uint64_t read_ = 0;  ///< events of the source
  std::map<std::uint64_t, std::string> texts_;
};

/// Returns the program of a process of the tree by an address of its merged events: program_name(), empty for
/// the recorded program itself.
ProcessName process_names(const RecordedTree& tree);

/// Returns the allocations of a recorded program and its processes, merged by time, from its start to its
/// end. Throws UsageError if the profile is incomplete or compacted, or has more than
/// kMaxSequencedAllocations.
AllocationSequence recorded_sequence(const RecordedTree& tree);

}  // namespace peakmark
