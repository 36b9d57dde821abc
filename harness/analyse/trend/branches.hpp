#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/trend/series.hpp"

namespace peakmark::trend {

/// Returns true for a run of the base branch. A run without a branch is one: earlier versions kept none.
bool is_of_base(const std::string& branch, const std::string& base_branch);

/// Returns true if one is the other or its beginning of at least 7 digits. False for modified sources (`+`).
bool is_same_commit(std::string_view one, std::string_view other);

/// Returns the runs of the base branch up to the one that `branch` is compared with, of the suites that the
/// branch has, then the newest run of the branch of each suite, so that find_trends() finds what the branch
/// changed. `base_runs` says what each is compared with:
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
