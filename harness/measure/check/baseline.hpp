#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/size.hpp"
#include "measure/check/judge.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark {

/// The bytes of each case of a run, with which later runs are compared if there is no history.
struct Baseline {
  /// By name. Each has version, outcome, requested_peak_bytes, setup_bytes, and at_peak sorted by name, kind
  /// and bytes.
  std::map<std::string, Observation> cases;
};

/// Returns the baseline of a run. Throws UsageError if the run is incomplete: its missing cases would be new
/// ones later.
Baseline make_baseline(const Run& run);

/// Returns the text of a baseline file: a line of JSON with the version, then a line for each case, by name
/// (docs/formats.md).
std::string baseline_text(const Baseline& baseline);
/// Throws UsageError with the number of the malformed line.
Baseline parse_baseline(std::string_view text);

/// Reads a baseline file or a run file. Throws UsageError with the file's name.
Baseline read_baseline(const std::filesystem::path& path);

/// What update_baseline() did with the cases of a baseline. Lists have names.
struct BaselineUpdate {
  std::size_t cases = 0;     ///< of the baseline now
  std::size_t measured = 0;  ///< of the runs
  std::size_t added = 0;
  std::size_t changed = 0;
  std::vector<std::string> not_in_run;    ///< kept, because the runs measured only a part of the suite
  std::vector<std::string> not_measured;  ///< kept, with the outcome of the run: `op/a/opencl (crashed)`
  std::vector<std::string> not_in_suite;  ///< kept, or removed with `prune`
};

/// Adds what complete runs measured to the baseline in `path`, which need not exist. A case that they did not
/// measure stays as it is. `prune`: removes cases that the suite no longer has. Writes nothing if no case was
/// measured.
///
/// Throws UsageError if `path` is not a baseline or cannot be read as one, if two runs have the same case,
/// and if `prune` is true and a run measured only a part of its suite.
BaselineUpdate update_baseline(const std::vector<Run>& runs, const std::filesystem::path& path, bool prune);

/// Throws UsageError if a run measured only a part of its suite: such a run does not show which cases the
/// suite no longer has.
void check_can_prune(const std::vector<Run>& runs);

/// Returns the verdicts of the rule `baseline` for the cases of the run, then for those that only the
/// baseline has, by name.
/// - fail: more bytes at the peak or after setup than `allowed` and the suite's allow_growth cover, with the
///   allocations that changed; a peak that shrank by more than its allow_shrinking; a case that succeeded
///   before and is out of memory or unsupported now.
/// - failed_measurement: the case succeeded, and bytes that were known are unknown now.
/// - warning: allowed growth; fewer bytes and new cases, until the baseline is updated.
/// - skipped: a case that only the baseline has, or has in another version.
/// Crashes, hangs and wrong answers belong to the rule `outcome`.
///
/// Throws UsageError if run and baseline have no case in common, and as by_name().
std::vector<Verdict> judge_baseline(const Run& run, const Baseline& baseline,
                                    const GrowthAllowance& allowed = {});

/// Returns true if these verdicts compare no case with the baseline, because all of them begin a new series.
bool is_uncompared(const std::vector<Verdict>& verdicts);

}  // namespace peakmark
