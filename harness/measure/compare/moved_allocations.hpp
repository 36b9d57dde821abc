#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/runfile/observation.hpp"
#include "record/ledger/ledger.hpp"

namespace peakmark {

/// Allocations of one name, kind and size whose number differs between two lists.
struct MovedAllocations {
  std::string name;  ///< empty: unnamed
  MemoryKind kind = MemoryKind::none;
  Size bytes = 0;  ///< of each allocation
  std::int64_t base_count = 0;
  std::int64_t new_count = 0;

  bool operator==(const MovedAllocations&) const = default;
};

/// Like MovedAllocations, for any number of lists.
struct MovedBetweenLists {
  std::string name;
  MemoryKind kind = MemoryKind::none;
  Size bytes = 0;                    ///< of each allocation
  std::vector<std::int64_t> counts;  ///< one for each list
};

/// Returns how lists of allocations differ, like moved_allocations().
std::vector<MovedBetweenLists> moved_between(const std::vector<const std::vector<Allocation>*>& lists);

/// Returns how two lists of allocations, live at two peaks, differ. Allocations are identified by name, kind
/// and size, because addresses differ between runs. Sorted by the difference in bytes, then by name, kind,
/// size.
std::vector<MovedAllocations> moved_allocations(const std::vector<Allocation>& base,
                                                const std::vector<Allocation>& next);

/// Returns the differences between two memory passes of a case, as lines of text.
std::vector<std::string> moved_between_passes(const std::vector<Allocation>& first,
                                              const std::vector<Allocation>& second);

/// Allocations of one name and kind that were added, removed or resized between two peaks.
struct MovedEntries {
  std::string name;  ///< empty: unnamed
  std::string kind;
  std::optional<Size> base_bytes;  ///< of each allocation; null: added
  std::optional<Size> new_bytes;   ///< of each allocation; null: removed
  std::int64_t count = 0;

  bool operator==(const MovedEntries&) const = default;
};

/// Returns the allocations that were added, removed or resized between two peaks. Within a name and kind,
/// sizes that only one side has are paired in ascending order. Sorted by the difference in bytes, then by
/// name.
std::vector<MovedEntries> moved_entries(const std::vector<PeakEntry>& base,
                                        const std::vector<PeakEntry>& next);

/// Returns `added: cache (buffer), 256 B`, `grew: plan (buffer), 2 × 2000 -> 2256 B`.
std::string in_words(const MovedEntries& moved);

}  // namespace peakmark
