#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/supervise/sweep_run.hpp"

namespace peakmark {

class SignalWatch;

/// Cases of a suite, with the names that the build of this description gives them.
struct DescribedCases {
  Description description;
  Selection selection;
};

/// Two builds, measured interleaved: each round measures both builds, and the next round reverses their
/// order. With `sweep.memory_only` there is one round, without times.
struct BuildComparisonOptions {
  SweepOptions sweep;  ///< options of both builds; `run_file` and `worker` are those of the new build
  std::filesystem::path other;  ///< checkout, build tree, install prefix or worker: the base
  std::filesystem::path base_run_file;
  bool force = false;  ///< compare even if the build types differ
  /// The cases to measure; null: those that `sweep.selection` selects in the new build.
  const DescribedCases* cases = nullptr;
  const SignalWatch* signals = nullptr;  ///< as in Measurement
  /// The suites of the base, for their programs; empty: programs are left out.
  std::vector<std::filesystem::path> base_suites = {};
  /// The suites in both commits, for the versions of their variants. Empty: the measured suites.
  std::vector<std::filesystem::path> base_own_suites = {};
  std::vector<std::filesystem::path> own_suites = {};
  bool programs_only = false;  ///< the builds have no worker: only cases of programs are measured
};

/// Returns a case with the name that another build gives it, whose variant may have other defaults and axes.
/// Null if that build lacks the variant, or lacks an axis that is not at its default.
std::optional<PlannedCase> planned_for(const PlannedCase& planned, const Description& here,
                                       const Description& there);

struct ComparedBuilds {
  ExitCode code = ExitCode::clean;  ///< exit code of run_sweep()
  bool has_both = false;            ///< both run files have measured cases of this comparison
};

/// Measures the cases of the suite with both builds, and writes both run files, with the same `job`, even if
/// it is stopped. Reports progress on standard error.
ComparedBuilds run_two_builds(const BuildComparisonOptions& options);

}  // namespace peakmark
