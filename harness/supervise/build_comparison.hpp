#pragma once

#include <filesystem>
#include <string>

#include "supervise/sweep_run.hpp"

namespace peakmark {

/// Two builds measured in turns: a round of one, a round of the other, then the other way round.
struct BuildComparisonOptions {
  SweepOptions sweep;  ///< of the new build: `run_file`, `worker`, `rounds` and all that both have alike
  std::filesystem::path other;          ///< checkout, build tree, install prefix or worker: the base
  std::filesystem::path base_run_file;  ///< where the base's run goes
  bool force = false;                   ///< also where the build types differ
};

/// The worker of another build: the program itself, or the one that is in it where `named` is in this one, or
/// a later part of that path: of `build/bin/blur` also `bin/blur` and `blur`. Where no suite names one
/// (`or_default`) also `peakmark-bench` in a build tree, an install prefix or a checkout in which
/// `ci/nightly` ran. UsageError that names where it looked.
std::filesystem::path find_worker_of(const std::filesystem::path& other,
                                     const std::filesystem::path& named = {}, bool or_default = true);

/// The case as another build knows it, whose variant may have other defaults and axes: null where it has not
/// the variant, or an axis that it lacks is not at its default.
std::optional<PlannedCase> planned_for(const PlannedCase& planned, const Description& here,
                                       const Description& there);

struct ComparedBuilds {
  ExitCode code = ExitCode::clean;  ///< that of run_sweep()
  bool has_both = false;            ///< both run files are of this comparison, and each has measured cases
};

/// Measures the cases of the suite with both, and writes both run files, which have one job and say so; also
/// when it is stopped. Says what it does on standard error.
ComparedBuilds run_two_builds(const BuildComparisonOptions& options);

}  // namespace peakmark
