#pragma once

// For .cpp files only.
#include "base/report.hpp"
#include "compare/moved_allocations.hpp"

namespace peakmark {

/// Allocations that two peaks differ in, as `allocations` of comparisons and trends.
inline const Fields<MovedAllocations>& moved_fields() {
  static const auto difference = [](const MovedAllocations& one) {
    return checked_multiply(one.bytes, one.new_count - one.base_count);
  };
  static const Fields<MovedAllocations> fields{
      {"name", As::text, &MovedAllocations::name, "name", "(unnamed)"},
      {"kind", As::text, &MovedAllocations::kind, "kind"},
      {"bytes each", As::number, &MovedAllocations::bytes, "bytes"},
      {"base", As::number, &MovedAllocations::base_count, "base_count"},
      {"new", As::number, &MovedAllocations::new_count, "new_count"},
      {"difference", As::change, difference}};
  return fields;
}

}  // namespace peakmark
