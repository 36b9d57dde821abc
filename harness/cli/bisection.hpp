#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/size.hpp"
#include "compare/run_comparison.hpp"
#include "supervise/git_repository.hpp"
#include "supervise/sweep_run.hpp"

namespace peakmark::cli {

/// What `peakmark bisect` looks for, and where.
struct BisectRequest {
  SweepOptions sweep;  ///< the suites, and how they are measured
  std::string good;    ///< commits, as typed
  std::string bad;
  std::string case_name;
  std::string metric;  ///< empty: the first of those below in which the bad commit is worse
  GrowthAllowance allow_growth;
  std::string build_command;  ///< for the shell
  bool force = false;         ///< compare builds of different types
};

/// The metrics, in the order in which they are compared.
inline constexpr const char* kOutcomeMetric = "outcome";
inline constexpr const char* kPeakMetric = "requested_peak_bytes";
inline constexpr const char* kLeakMetric = "leaked_bytes";
inline constexpr const char* kSetupMetric = "setup_bytes";
inline constexpr const char* kTimeMetric = "gpu_time_ns";

enum class TrialVerdict { good, bad, skipped };

/// What was found out about a commit.
struct BisectTrial {
  CommitInfo commit;
  std::size_t commits_after_good = 0;
  TrialVerdict verdict = TrialVerdict::skipped;
  std::string reason;                       ///< why it is skipped
  std::optional<RunComparison> comparison;  ///< of the one case, with the good commit; null if not measured
};

enum class BisectEnd {
  found,         ///< the first bad commit is known
  not_worse,     ///< the bad commit is not worse than the good one
  only_skipped,  ///< it is one of several commits that cannot be judged
  interrupted,
};

struct BisectReport {
  BisectEnd end = BisectEnd::interrupted;
  std::string case_name;
  std::string metric;
  CommitInfo good;
  CommitInfo bad;
  std::vector<BisectTrial> trials;      ///< in the order of the history, without the good commit
  CommitInfo last_good;                 ///< of those that were measured
  CommitInfo first_bad;                 ///< the same
  std::vector<std::string> candidates;  ///< commits that may be the first bad one, the newest first
  std::string command;  ///< compares the first bad commit with its parent, or continues; empty: none

  [[nodiscard]] const BisectTrial* trial(const std::string& hash) const;
};

/// Finds the first commit between two in which a case is worse than in the good one: builds and measures each
/// in a worktree of its own, interleaved with the good one, as `git bisect` chooses them. A commit that does
/// not build, or in which the case is missing or fails, is skipped. The user's checkout is not used. Reports
/// progress on standard error; removes its worktrees, also after a signal. Throws UsageError for commits that
/// are unknown or not in one line, and MeasurementError if the good or the bad commit cannot be measured.
BisectReport bisect(const BisectRequest& request);

/// Returns
/// - clean: the first bad commit was found;
/// - verdict: the bad commit is not worse;
/// - measurement: the commits that are left cannot be judged;
/// - interrupted.
ExitCode bisect_exit_code(const BisectReport& report);

std::string bisect_text(const BisectReport& report);
std::string bisect_json(const BisectReport& report);

}  // namespace peakmark::cli
