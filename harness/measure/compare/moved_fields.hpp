#pragma once

// For .cpp files only.
#include "base/report.hpp"
#include "measure/compare/moved_allocations.hpp"

namespace peakmark {

/// Returns the fields of allocations that differ between two peaks: `allocations` of comparisons and trends.
inline const Fields<MovedAllocations>& moved_fields() {
  static const Fields<MovedAllocations> fields{
      {"name", As::text, &MovedAllocations::name, "name", "(unnamed)"},
      {"kind", As::text, &MovedAllocations::kind, "kind"},
      {"base bytes", As::number, &MovedAllocations::base_bytes, "base_bytes"},
      {"new bytes", As::number, &MovedAllocations::new_bytes, "new_bytes"},
      {"count", As::number, &MovedAllocations::count, "count"},
      {"difference", As::change, difference},
      {"", As::hidden, [](const MovedAllocations& one) { return in_words(one); }, "text"}};
  return fields;
}

}  // namespace peakmark
