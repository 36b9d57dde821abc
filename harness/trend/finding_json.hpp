#pragma once

// Internal to this module; for .cpp files.

#include <cstdint>
#include <string>

#include "runfile/json_fields.hpp"
#include "trend/common_findings.hpp"
#include "trend/reports.hpp"

namespace peakmark::trend {

/// Writes bytes as integers, outcomes as words.
inline json_fields::Json level_json(const std::string& metric, double value) {
  if (metric == metric::outcome) return to_string(static_cast<OutcomeLevel>(value));
  if (metric::is_exact(metric)) return static_cast<std::int64_t>(value);
  return value;
}

/// Returns the worst case of a finding, its devices, and the names of all cases.
json_fields::Json finding_json(const CommonFinding& finding);

}  // namespace peakmark::trend
