#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/runfile/run_file.hpp"

namespace peakmark {

/// A run with its file, for messages.
struct NamedRun {
  std::filesystem::path path;
  Run run;
};

/// Merges the shards of one run: cases in the order of the suite, a new id, the warnings of all. Reference
/// times are null, because shards may have run at the same time on several machines. If a shard is missing or
/// unfinished, the run is not complete and says so (RunContext::partial). Throws UsageError for a run that is
/// not a shard, duplicates (a part or a case twice), and mixed suites, devices, drivers, builds or passes.
/// Shards of one device class may come from several devices.
Run merge_runs(std::vector<NamedRun> shards);

/// A difference between two runs. They must not differ if one resumes the other, or if both are shards of one
/// run.
struct RunDifference {
  const char* what;  ///< for `another …`: `device`
  std::string one;
  std::string other;
};

/// Returns the first difference in suite, device, driver, worker, build, commit and passes; null if there is
/// none. Does not compare the cases.
std::optional<RunDifference> first_difference(const RunContext& one, const RunContext& other);

}  // namespace peakmark
