#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "measure/compare/run_comparison.hpp"
#include "measure/git/git_repository.hpp"
#include "measure/supervise/sweep_run.hpp"

namespace peakmark {

/// The request of `peakmark bisect`.
struct BisectRequest {
  SweepOptions sweep;  ///< the suites, and how they are measured
  std::string good;    ///< commits, as typed
  std::string bad;
  std::string case_name;
  std::string metric;  ///< empty: the first of the metrics below in which the bad commit is worse
  GrowthAllowance allow_growth;
  std::string build_command;  ///< shell command
  bool force = false;         ///< compare builds of different types
};

/// The metrics, in the order in which they are compared.
inline constexpr const char* kOutcomeMetric = "outcome";
inline constexpr const char* kPeakMetric = "requested_peak_bytes";
inline constexpr const char* kLeakMetric = "leaked_bytes";
inline constexpr const char* kSetupMetric = "setup_bytes";
inline constexpr const char* kTimeMetric = "gpu_time_ns";

enum class TrialVerdict { good, bad, skipped };

/// The result of measuring a commit.
struct BisectTrial {
  CommitInfo commit;
  std::size_t commits_after_good = 0;
  TrialVerdict verdict = TrialVerdict::skipped;
  std::string reason;                       ///< why it is skipped
  std::optional<RunComparison> comparison;  ///< of the case, with the good commit; null if not measured
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
  CommitInfo last_good;                 ///< among the measured commits
  CommitInfo first_bad;                 ///< among the measured commits
  std::vector<std::string> candidates;  ///< commits that may be the first bad one, the newest first
  std::string command;  ///< compares the first bad commit with its parent, or continues; empty: none

  [[nodiscard]] const BisectTrial* trial(const std::string& hash) const;
};

/// Finds the first commit between two in which a case is worse than in the good one: builds each commit that
/// `git bisect` chooses in a new worktree and measures it interleaved with the good one. A commit is skipped
/// if it does not build, or if the case is missing or fails. The user's checkout is not used. Reports
/// progress on standard error; removes its worktrees, also after a signal. Throws UsageError for commits that
/// are unknown or not in one line, and MeasurementError if the good or the bad commit cannot be measured.
BisectReport bisect(const BisectRequest& request);

}  // namespace peakmark
