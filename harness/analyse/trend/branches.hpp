#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/trend/series.hpp"

namespace peakmark::trend {

/// Returns true for a run of the base branch. A run without a branch counts as one, because earlier versions
/// stored no branch.
bool is_of_base(const std::string& branch, const std::string& base_branch);

/// Returns true if both are equal, or one is the beginning of the other with at least 7 digits. False for
/// modified sources (`+`).
bool is_same_commit(std::string_view one, std::string_view other);

/// Returns the history from which find_trends() finds the changes of a branch: for the suites of the branch,
/// the runs of the base branch up to the compared ones, then the newest run of the branch for each suite.
/// `base_runs` has the run that each is compared with:
/// - the newest run of the suite at the merge base, or at its nearest earlier commit that was measured;
/// - if the merge base is unknown, or no such commit was measured: the newest run of the suite before the
///   branch's.
/// `history` has all runs of both branches. Returns a history without runs if it has none of the branch.
DeviceHistory compare_with_base(const DeviceHistory& history, const std::string& branch,
                                const std::string& base_branch);

/// Returns what a run is compared with: `suite smoke of pull/12 (1a2b3c4d5e6f) against main at its merge base
/// 9f8e7d6c5b4a`.
std::string to_text(const BaseRun& base, const DeviceHistory& history);

}  // namespace peakmark::trend
