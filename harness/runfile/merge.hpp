#pragma once

#include <filesystem>
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

}  // namespace peakmark
