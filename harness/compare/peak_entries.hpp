#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runfile/observation.hpp"

namespace peakmark {

/// Allocations of one name and kind that are at only one of two peaks, or at both in another size.
struct MovedEntries {
  std::string name;  ///< empty: nobody named them
  std::string kind;
  std::optional<Size> base_bytes;  ///< of each; none: they came
  std::optional<Size> new_bytes;   ///< none: they went
  std::int64_t count = 0;

  bool operator==(const MovedEntries&) const = default;
};

/// What came, went, grew or shrank between two peaks. An allocation has no identity beyond name, kind and
/// size: of one name and kind, sizes that are on one side only are matched in order of size. The largest
/// difference in bytes comes first, then by name.
std::vector<MovedEntries> moved_entries(const std::vector<PeakEntry>& base,
                                        const std::vector<PeakEntry>& next);

/// `came: cache (buffer), 256 B`, `grew: plan (buffer), 2 × 2000 -> 2256 B`.
std::string in_words(const MovedEntries& moved);

}  // namespace peakmark
