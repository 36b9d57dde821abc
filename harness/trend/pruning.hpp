#pragma once

#include <set>
#include <string>

#include "trend/trends.hpp"

namespace peakmark::trend {

/// Ids of the runs from before `date` (ISO 8601, UTC) that `find_trends` and the next run need:
/// - the newest run of each suite;
/// - for each case, the runs with its newest `options.watch.baseline_nights` times;
/// - for each change, the first run of the new level and the last of the former; for an open regression of
/// times also
///   the `baseline_nights` runs of the case before it and every run since;
/// - for each change of bytes, outcome or estimate, and each acceptance, its run and the run before it.
/// The rule checks itself: find_trends() on what stays must report the same open regressions. Where it does
/// not, every run of the case stays; UsageError where that is not enough either. Pure.
std::set<std::string> runs_to_keep(const DeviceHistory& history, const std::string& date,
                                   const TrendOptions& options = {});

/// The history without the runs that `stays` does not name and that are from before `date`.
DeviceHistory pruned(const DeviceHistory& history, const std::string& date,
                     const std::set<std::string>& stays);

}  // namespace peakmark::trend
