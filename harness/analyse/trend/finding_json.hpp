#pragma once

// Internal to this module; for .cpp files.

#include <cstdint>
#include <string>

#include "analyse/trend/common_findings.hpp"
#include "analyse/trend/reports.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark::trend {

/// Writes bytes as integers, outcomes as words.
inline json_fields::Json level_json(const std::string& metric, double value) {
  if (metric == metric::outcome) return to_string(static_cast<OutcomeLevel>(value));
  if (metric::is_exact(metric)) return static_cast<std::int64_t>(value);
  return value;
}

/// Returns `commit`, its subject and author, `commit_before` and the number of commits between the last run
/// of the former level and the first of the new one. Unknown is null.
json_fields::Json commits_json(const DeviceHistory& history, const Change& change);
/// Returns who accepted a change, when and why; null if nobody did.
json_fields::Json accepted_json(const DeviceHistory& history, const Change& change);
/// Returns the run that ended a regression, with its commit; null if it is not known.
json_fields::Json recovered_json(const DeviceTrends& device, const Change& change);

/// Returns the worst case of a finding, its devices, and the names of all cases.
json_fields::Json finding_json(const CommonFinding& finding);

}  // namespace peakmark::trend
