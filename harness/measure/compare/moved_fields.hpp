#pragma once

// For .cpp files only.
#include "base/report.hpp"
#include "measure/compare/moved_allocations.hpp"

namespace peakmark {

/// Returns the fields that identify allocations whose number differs: the first fields of their rows.
template <typename Row>
Fields<Row> moved_identity() {
  return {{"name", As::text, &Row::name, "name", "(unnamed)"},
          {"kind", As::text, &Row::kind, "kind"},
          {"bytes each", As::number, &Row::bytes, "bytes"}};
}

/// Returns the fields of allocations that differ between two peaks: `allocations` of comparisons and trends.
/// `Row`: like MovedAllocations; its kind may be a text.
template <typename Row>
Fields<Row> moved_fields() {
  const auto difference = [](const Row& one) {
    return checked_multiply(one.bytes, one.new_count - one.base_count);
  };
  Fields<Row> fields = moved_identity<Row>();
  fields.emplace_back("base", As::number, &Row::base_count, "base_count");
  fields.emplace_back("new", As::number, &Row::new_count, "new_count");
  fields.emplace_back("difference", As::change, difference);
  return fields;
}

}  // namespace peakmark
