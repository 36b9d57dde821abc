#pragma once

// For .cpp files only.
#include "base/report.hpp"
#include "record/ledger/ledger.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

/// Returns the fields of refused requests, without counts. `site`: As::lines shows the whole call chain,
/// As::text its first line.
inline Fields<RefusedAllocation> refused_fields(As site) {
  const auto error = [](const RefusedAllocation& one) { return error_text(one.error); };
  const auto error_name = [](const RefusedAllocation& one) { return allocation_error_name(one.error); };
  return {{"bytes each", As::number, &RefusedAllocation::bytes, "bytes"},
          {"", As::size, &RefusedAllocation::bytes},
          {"error", As::text, error},
          {"kind", As::text, &RefusedAllocation::kind, "kind"},
          {"", As::hidden, &RefusedAllocation::error, "error"},
          {"", As::hidden, unless_empty(error_name), "error_name"},
          {"phase", As::text, &RefusedAllocation::phase, "phase", ""},
          {"site", site, unless_empty(&RefusedAllocation::frames), "frames", "(no stack recorded)"}};
}

}  // namespace peakmark
