#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/runfile/observation.hpp"
#include "record/ledger/ledger.hpp"

namespace peakmark {

/// Allocations of one name, kind and size whose number differs between several lists.
struct MovedBetweenLists {
  std::string name;  ///< empty: unnamed
  MemoryKind kind = MemoryKind::none;
  Size bytes = 0;                    ///< of each allocation
  std::vector<std::int64_t> counts;  ///< one for each list
};

/// Returns how lists of allocations, live at the peaks of several recordings, differ. Allocations are
/// identified by name, kind and size, because addresses differ between runs. Sorted by the difference in
/// bytes, then by name, kind, size.
std::vector<MovedBetweenLists> moved_between(const std::vector<const std::vector<Allocation>*>& lists);

/// Allocations of one name and kind that were added, removed or resized between two peaks.
struct MovedAllocations {
  std::string name;  ///< empty: unnamed
  std::string kind;
  std::optional<Size> base_bytes;  ///< of each allocation; null: added
  std::optional<Size> new_bytes;   ///< of each allocation; null: removed
  std::int64_t count = 0;

  bool operator==(const MovedAllocations&) const = default;
};

/// Returns the allocations that were added, removed or resized between two peaks. Within a name and kind,
/// sizes that only one side has are paired in ascending order. Sorted by the difference in bytes, then by
/// name.
std::vector<MovedAllocations> moved_allocations(const std::vector<PeakEntry>& base,
                                                const std::vector<PeakEntry>& next);

/// Returns the difference in bytes over all of the allocations; below 0: less.
Size difference(const MovedAllocations& moved);

/// Returns `added: cache (buffer), 256 B`, `grew: plan (buffer), 2 × 2000 -> 2256 B`. From 1 MiB on, also
/// with units: `added: cache (buffer), 5242880 B (5 MiB)`.
std::string in_words(const MovedAllocations& moved);

/// Returns the allocations of a profile as a run file has them.
std::vector<PeakEntry> peak_entries(const std::vector<Allocation>& allocations);

}  // namespace peakmark
