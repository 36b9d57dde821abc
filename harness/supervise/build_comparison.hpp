#pragma once

#include <filesystem>
#include <string>

#include "supervise/sweep_run.hpp"

namespace peakmark {

/// Two builds, measured interleaved: a round of each, and the next round in reverse order.
struct BuildComparisonOptions {
  SweepOptions sweep;           ///< `run_file` and `worker` of the new build, and the options of both
  std::filesystem::path other;  ///< checkout, build tree, install prefix or worker: the base
  std::filesystem::path base_run_file;
  bool force = false;  ///< compare even if the build types differ
};

/// Returns a case as another build names it, whose variant may have other defaults and axes. Null if that
/// build lacks the variant, or lacks an axis that is not at its default.
std::optional<PlannedCase> planned_for(const PlannedCase& planned, const Description& here,
                                       const Description& there);

struct ComparedBuilds {
  ExitCode code = ExitCode::clean;  ///< that of run_sweep()
  bool has_both = false;            ///< both run files have measured cases of this comparison
};

/// Measures the cases of the suite with both builds, and writes both run files, with the same `job`; also
/// when it is stopped. Reports progress on standard error.
ComparedBuilds run_two_builds(const BuildComparisonOptions& options);

}  // namespace peakmark
