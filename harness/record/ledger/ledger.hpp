#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

/// An allocation that is live, or was live at the moment in question.
struct Allocation {
  std::string name;   ///< given by a mark; may be empty
  std::string phase;  ///< in which it was allocated
  MemoryKind kind = MemoryKind::none;
  Size bytes = 0;
  std::uint64_t address = 0;
  std::int64_t time_ns = 0;
  std::uint64_t stack = 0;  ///< id of its call stack, a key of LedgerSummary::stacks; 0: not recorded
};

/// Requests of one size, kind, error, phase and call stack that one limit refused.
struct RefusedAllocation {
  Size bytes = 0;  ///< of each
  MemoryKind kind = MemoryKind::none;
  std::int32_t error = 0;  ///< error code of the API; see allocation_error_name()
  std::string phase;
  std::uint64_t stack = 0;  ///< as Allocation::stack
  std::int64_t count = 0;
  /// Frames of the call site, innermost first. The ledger leaves it empty; refused_by_site of show fills it.
  std::vector<std::string> frames = {};
  RefusedBy refused_by = RefusedBy::driver;

  bool operator==(const RefusedAllocation&) const = default;
};

/// One phase of a program, from its mark to the next.
struct PhaseSummary {
  std::string name;  ///< empty before the first mark
  Size live_at_start_bytes = 0;
  Size live_at_end_bytes = 0;
  Size peak_bytes = 0;  ///< maximum live bytes in the phase, including what it began with
  std::int64_t allocations = 0;
  std::int64_t failed_allocations = 0;
  std::int64_t start_time_ns =
      0;  ///< of its mark; for the time before the first mark, that of the first event
};

/// One kind of memory. Kinds that do not count into the peak are reported only here.
struct KindSummary {
  Size peak_bytes = 0;  ///< maximum of this kind alone
  Size live_at_end_bytes = 0;
  Size total_bytes = 0;
  std::int64_t allocations = 0;
};

/// The figures of a profile. Bytes are requested bytes of the kinds that count into the peak.
struct LedgerSummary {
  Size peak_bytes = 0;
  std::int64_t peak_time_ns = 0;
  Size live_at_end_bytes = 0;
  Size total_bytes = 0;
  std::int64_t allocations = 0;
  std::int64_t failed_allocations = 0;
  std::int64_t unmatched_releases = 0;  ///< of addresses without a recorded allocation
  std::int64_t refused_releases = 0;    ///< by the driver; their memory stayed live
  std::map<MemoryKind, KindSummary> by_kind;
  std::vector<Allocation> at_peak;         ///< what was live at the first moment of the peak, largest first
  std::vector<Allocation> leaked;          ///< what is live at the end, largest first
  std::vector<RefusedAllocation> refused;  ///< largest first, then in the order in which they first came
  std::vector<PhaseSummary> phases;
  std::vector<std::string> notes;  ///< messages of the recorder
  std::map<std::uint64_t, std::string>
      stacks;  ///< texts of the call stacks by id; empty if none were recorded
  Size pool_reserved_peak_bytes = 0;
  bool pool_seen = false;  ///< false: pool_reserved_peak_bytes is unknown, not 0
};

/// Returns the first note that says that the recording cannot be trusted; empty if there is none.
std::string invalid_note(const LedgerSummary& summary);

/// Returns the figures of events, in the given order, before which nothing was live. If an address is
/// allocated again without a release in between, the release was lost: the memory counts as released first,
/// so that no address counts twice.
LedgerSummary summarise(std::span<const Event> events);

/// Returns true for events that fold() returned: most allocations are only counted. Sequences, repetitions
/// and the usage of pools need each allocation, so they refuse folded events.
inline bool is_folded(std::span<const Event> events) {
  return !events.empty() && events.front().type == EventType::live;
}

/// Flags of what fold() keeps at an event.
enum FoldMark : std::uint8_t {
  kMarkKept = 1,        ///< the allocation
  kMarkExact = 2,       ///< the live bytes after it
  kMarkEndOfPhase = 4,  ///< the live bytes and the counts after it: a phase ends, possibly of another process
};

/// Returns the marks of each event. Marked are the allocations that are live at the end, or at the first
/// moment of the peak of all or of one device; and the live bytes at the peaks of each phase and kind, and
/// for a thinned timeline.
std::vector<std::uint8_t> fold_marks(std::span<const Event> events);

/// Returns fewer events with the same sums (`record --compact`): `summarise` returns the same for them as for
/// all events, also if later events follow. Kept are the allocations that are marked, with their releases and
/// names; phases, notes, call stacks and devices; one refused request of each kind and phase, with its count.
/// Of everything else the counts are kept (EventType::folded) and the live bytes (EventType::live): exactly
/// where an event is marked, and never more than were live elsewhere. So the events of several processes can
/// be merged if their common peak is marked in each of them. Times of the device (EventType::work) are
/// dropped.
///
/// The result may be folded again, together with later events. A text must not be cut off at the end.
/// `marks`: fold_marks(events) and further marks.
std::vector<Event> fold(std::span<const Event> events, const std::vector<std::uint8_t>& marks);
std::vector<Event> fold(std::span<const Event> events);

}  // namespace peakmark
