#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runfile/run_file.hpp"

namespace peakmark {

/// A run file and where it came from, for messages.
struct NamedRun {
  std::filesystem::path path;
  Run run;
};

/// The shards of one run as one run: cases in the order of the suite, an id of its own, warnings of all.
/// Reference times are those of shards that may have run side by side on several machines: unknown for the
/// whole. UsageError for a run that is no shard, gaps (a part is missing, or has cases without an
/// observation), duplicates (a part or a case twice), and mixed suites, devices, drivers, builds or passes.
Run merge_runs(std::vector<NamedRun> shards);

/// What two parts of one run differ in that must be alike: in a run that is resumed, and in its shards.
struct RunDifference {
  const char* what;  ///< for `another …`: `device`
  std::string one;
  std::string other;
};

/// Suite, device, driver, worker, build, commit and passes: the first in which two contexts differ; null
/// where they are parts of one run. Which cases each has is for the caller to look at.
std::optional<RunDifference> first_difference(const RunContext& one, const RunContext& other);

}  // namespace peakmark
