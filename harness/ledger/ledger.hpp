#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "profile/event.hpp"

namespace peakmark {

/// An allocation that is live, or was at the moment asked about.
struct Allocation {
  std::string name;   ///< as marked; empty when nobody named it
  std::string phase;  ///< in which it was made
  MemoryKind kind = MemoryKind::none;
  Size bytes = 0;
  std::uint64_t address = 0;
  std::int64_t time_ns = 0;
  std::uint64_t stack = 0;  ///< id of its call stack, a key of LedgerSummary::stacks; 0: not recorded
};

/// Requests of one size, kind, error, phase and call stack that the driver refused.
struct RefusedAllocation {
  Size bytes = 0;  ///< of each
  MemoryKind kind = MemoryKind::none;
  std::int32_t error = 0;  ///< the API's; see allocation_error_name
  std::string phase;
  std::uint64_t stack = 0;  ///< as Allocation::stack
  std::int64_t count = 0;
  /// Of the call site, innermost first. The ledger leaves it empty (refused_by_site of show fills it).
  std::vector<std::string> frames = {};

  bool operator==(const RefusedAllocation&) const = default;
};

/// One phase of a program, from its mark to the next.
struct PhaseSummary {
  std::string name;  ///< empty before the first mark
  Size live_at_start_bytes = 0;
  Size live_at_end_bytes = 0;
  Size peak_bytes = 0;  ///< most live at any moment of the phase, what it began with included
  std::int64_t allocations = 0;
  std::int64_t failed_allocations = 0;
  std::int64_t start_time_ns =
      0;  ///< of its mark; of the time before the first mark, that of the first event
};

/// One kind of memory. Those that `counts_into_peak` leaves out are told of here only.
struct KindSummary {
  Size peak_bytes = 0;  ///< of this kind alone, at its own moment
  Size live_at_end_bytes = 0;
  Size total_bytes = 0;
  std::int64_t allocations = 0;
};

/// What events add up to. Bytes are requested bytes of the kinds that count into the peak.
struct LedgerSummary {
  Size peak_bytes = 0;
  std::int64_t peak_time_ns = 0;
  Size live_at_end_bytes = 0;
  Size total_bytes = 0;
  std::int64_t allocations = 0;
  std::int64_t failed_allocations = 0;
  std::int64_t unmatched_releases = 0;  ///< of addresses never seen allocated
  std::int64_t refused_releases = 0;    ///< by the driver; their memory stayed live
  std::map<MemoryKind, KindSummary> by_kind;
  std::vector<Allocation> at_peak;         ///< what was live at the first moment of the peak, largest first
  std::vector<Allocation> leaked;          ///< what is live at the end, largest first
  std::vector<RefusedAllocation> refused;  ///< largest first, then in the order in which they first came
  std::vector<PhaseSummary> phases;
  std::vector<std::string> notes;  ///< what the recorder had to say
  std::map<std::uint64_t, std::string>
      stacks;  ///< texts of the call stacks by id; empty where none were recorded
  Size pool_reserved_peak_bytes = 0;
  bool pool_seen = false;  ///< false: pool_reserved_peak_bytes is unknown, not 0
};

/// The first note that says that the recording cannot be trusted; empty where there is none.
std::string invalid_note(const LedgerSummary& summary);

/// Replays events, in the order given, that began with nothing live.
/// An address that is allocated again without a release between is a release that was lost: it is counted as
/// released first, so that live never counts one address twice.
LedgerSummary summarise(std::span<const Event> events);

}  // namespace peakmark
