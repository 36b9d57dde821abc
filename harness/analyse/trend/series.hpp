#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/runfile/outcome_level.hpp"
#include "measure/runfile/run_file.hpp"

/// The contents of a history as plain lists. History::read() fills them, find_trends() reads them.
namespace peakmark::trend {

namespace metric {
inline constexpr std::string_view outcome = "outcome";  ///< an OutcomeLevel
inline constexpr std::string_view requested_peak_bytes = "requested_peak_bytes";
inline constexpr std::string_view setup_bytes = "setup_bytes";
inline constexpr std::string_view leaked_bytes = "leaked_bytes";
inline constexpr std::string_view gpu_time_ns = "gpu_time_ns";        ///< median of the block medians
inline constexpr std::string_view estimate_ratio = "estimate_ratio";  ///< requested peak / bytes estimated
/// The metrics with a series in a history.
inline constexpr std::array measured{requested_peak_bytes, setup_bytes, leaked_bytes, gpu_time_ns,
                                     estimate_ratio};
/// All metrics that may change, the most important first.
inline constexpr std::array all{outcome,      requested_peak_bytes, setup_bytes,
                                leaked_bytes, gpu_time_ns,          estimate_ratio};
/// Returns true for a metric that the program reports: drawn, and not judged.
constexpr bool is_reported(std::string_view name) {
  for (const std::string_view one : all) {
    if (one == name) return false;
  }
  return true;
}
/// Returns true for bytes, which repeat exactly: any difference is a change.
constexpr bool is_exact(std::string_view name) {
  return name == requested_peak_bytes || name == setup_bytes || name == leaked_bytes;
}
}  // namespace metric

/// Facts from git about the commit of a run.
struct CommitText {
  std::string subject;                 ///< the first line of its message; empty if unknown
  std::string author;                  ///< the name; empty if unknown
  std::optional<std::int64_t> number;  ///< of commits up to it, with its ancestors; null if unknown
};

/// One run on one device: its facts without the plan, and its place in the history. Two runs of a day, or of
/// one commit, are two entries.
struct HistoryRun : RunContext {
  CommitText commit_text = {};
  std::string branch;  ///< `main`, `pull/12`
  /// For a run of another branch than the base branch: the merge base, then its first parents, newest first.
  /// Empty if unknown.
  std::vector<std::string> base_commits;
  /// Set by keep_newest_version(): no case has an earlier result of its version, but each has one of another
  /// version.
  bool begins_new_series = false;
  /// ns, ReferenceTimes::median() of the facts. Null if not measured.
  std::optional<double> reference_copy_ns;
  std::optional<double> reference_arithmetic_ns;
};

/// One metric of one case over the runs of a device. Lists have the length of DeviceHistory::runs.
struct Series {
  std::string case_name;
  std::string metric;
  /// Null if the run has no value. Bytes are at most 2^53, so that they are exact. Values that are not finite
  /// count as null.
  std::vector<std::optional<double>> values;
  /// The second measurement of `run --confirm` in the same run, null if there was none. Empty if no run of
  /// the series has one. Only for times.
  std::vector<std::optional<double>> confirmations;
  /// For times: how they were measured (time_method()). Values measured with another method are null, because
  /// they cannot be compared.
  std::string method = {};
};

/// The outcomes of a case over the runs of a device. Lists have the length of DeviceHistory::runs.
struct CaseOutcomes {
  std::string case_name;
  /// `ok`, `crashed`, …, `incomplete` (mark_incomplete()), or `lost`: planned, but without an observation.
  /// Null if the run did not plan it.
  std::vector<std::optional<std::string>> outcomes;
  /// Whether the suite of the run expects that outcome. Empty: in no run.
  std::vector<bool> is_expected = {};
  /// Observation::version in each run. Empty: 1 in all.
  std::vector<Size> versions = {};
  /// Set by keep_newest_version(): the version in the newest run, and the version before it (null: none).
  Size version = 1;
  std::optional<Size> version_before = std::nullopt;

  /// Returns the level in a run that planned the case. Throws UsageError for an unknown outcome: the history
  /// is damaged.
  [[nodiscard]] OutcomeLevel level(std::size_t run) const;
  /// Returns the last run that planned the case; null if none did.
  [[nodiscard]] std::optional<std::size_t> last_planned() const;
};

/// Replaces `ok` by `incomplete` in runs that lack a metric which an earlier run of the case has, because it
/// is no longer measured. `values`: of that metric; empty if no run has one. For a time, a run that measured
/// no times keeps the level of the run before it.
void mark_incomplete(const std::vector<HistoryRun>& runs, std::string_view metric,
                     const std::vector<std::optional<double>>& values,
                     std::vector<std::optional<std::string>>& outcomes);

/// A change that a user accepted: the level of `metric` from `from_run` on is the new baseline.
struct Acceptance {
  std::string case_name;
  std::string metric;    ///< empty: every metric of the case
  std::string from_run;  ///< id of the first run of the new level
  std::string who;
  std::string when;  ///< ISO 8601, UTC
  std::string reason;
};

/// The run with which the run of a branch is compared.
struct BaseRun {
  std::string branch;
  std::string base_branch;
  std::string suite;
  std::string commit;              ///< of the branch's run
  std::string merge_base;          ///< empty if unknown
  std::optional<std::size_t> run;  ///< an index of DeviceHistory::runs; null: there is none
  std::optional<std::size_t>
      older;                 ///< commits of `run` before the merge base; null: not one of its ancestors
  bool has_times = false;    ///< the branch's run
  std::string partial = {};  ///< RunContext::partial of the branch's run
};

/// The history of one device and backend. Runs are in the order of arrival, except that a run of an older
/// commit is before those of newer ones (analyse/history/run_order.hpp). Dates are of the machines that
/// measured, whose clocks may be wrong.
struct DeviceHistory {
  std::string device;
  std::string backend;
  std::vector<HistoryRun> runs;
  std::vector<Series> series;          ///< sorted by case name, then metric
  std::vector<CaseOutcomes> outcomes;  ///< sorted by case name
  std::vector<Acceptance> acceptances;
  /// Set by compare_with_base(): one for each of the last runs, which belong to the branch. Otherwise empty.
  std::vector<BaseRun> base_runs = {};
  /// By case: `allow_growth` of the newest run of its suite.
  std::map<std::string, GrowthAllowance> allowances = {};
  /// Ids of runs that were not read (history::RunLimits), each with the index in `runs` of the next one.
  std::map<std::string, std::size_t> left_out = {};

  /// Returns the index of the first run of the branch; 0 if the history is that of the base branch.
  [[nodiscard]] std::size_t first_of_branch() const {
    return base_runs.empty() ? 0 : runs.size() - base_runs.size();
  }
};

/// Returns the history with these runs only, in this order, and the cases, series and acceptances that have
/// one of them.
DeviceHistory with_runs(DeviceHistory history, const std::vector<std::size_t>& runs);

/// Removes the values, outcomes and acceptances of each case that are of another version than those of its
/// newest run, and marks the runs that begin a new series.
void keep_newest_version(DeviceHistory& history);

/// Returns the index of a run; null if the history does not have it.
std::optional<std::size_t> find_run(const DeviceHistory& history, const std::string& id);

/// Returns the allocations at the peak of a case in a run, empty if unknown. Called only for the runs before
/// and at a change of bytes.
using AllocationsAtPeak =
    std::function<std::vector<PeakEntry>(const std::string& case_name, const std::string& run_id)>;

}  // namespace peakmark::trend
