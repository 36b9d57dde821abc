#pragma once

#include <set>
#include <string>

#include "analyse/trend/trends.hpp"

namespace peakmark::trend {

/// Returns the ids of the runs before `date` (ISO 8601, UTC) that find_trends() still needs:
/// - the newest run of each suite;
/// - for each case, the runs with its newest `options.detector.baseline_runs` times;
/// - for each change, the first run of the new level and the last of the former; for an open regression of
///   times also the `baseline_runs` runs of the case before it and every run since;
/// - for each change of bytes, outcome or estimate, and each acceptance, its run and the run before it.
/// Checks that find_trends() reports the same open regressions without the other runs; else keeps every run
/// of the case. Throws UsageError if that is not enough.
std::set<std::string> runs_to_keep(const DeviceHistory& history, const std::string& date,
                                   const TrendOptions& options = {});

/// Returns the history without the runs before `date` that are not in `stays`.
DeviceHistory pruned(const DeviceHistory& history, const std::string& date,
                     const std::set<std::string>& stays);

}  // namespace peakmark::trend
