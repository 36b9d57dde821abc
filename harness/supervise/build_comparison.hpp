#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "supervise/sweep_run.hpp"

namespace peakmark {

class SignalWatch;

/// Cases of a suite, as the build of this description names them.
struct DescribedCases {
  Description description;
  Selection selection;
};

/// Two builds, measured interleaved: a round of each, and the next round in reverse order. With
/// `sweep.memory_only` there is one round, without times.
struct BuildComparisonOptions {
  SweepOptions sweep;           ///< `run_file` and `worker` of the new build, and the options of both
  std::filesystem::path other;  ///< checkout, build tree, install prefix or worker: the base
  std::filesystem::path base_run_file;
  bool force = false;  ///< compare even if the build types differ
  /// What is measured; null: what `sweep.selection` selects of the new build.
  const DescribedCases* cases = nullptr;
  const SignalWatch* signals = nullptr;  ///< as for Measurement
  /// The suites as the base has them, for their programs; empty: programs are left out.
  std::vector<std::filesystem::path> base_suites = {};
  /// The suites of both commits themselves: the versions of their variants. Empty: those of what is measured.
  std::vector<std::filesystem::path> base_own_suites = {};
  std::vector<std::filesystem::path> own_suites = {};
  bool programs_only = false;  ///< the builds have no worker: other cases are left out
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
