#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyse/history/history.hpp"
#include "analyse/trend/series.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark::history {

/// One case of a run as it is stored: facts that are the same in every run are separate from times.
struct ObservationRecord {
  std::string case_name;
  std::string outcome;
  std::optional<Size> requested_peak_bytes;
  std::optional<Size> setup_bytes;
  std::optional<Size> leaked_bytes;
  std::optional<Size> bytes_estimated;
  /// The observation without its times, as JSON on one line. Usually the same in every run, and stored once.
  std::string facts;
  std::int64_t facts_hash = 0;

  std::optional<double> gpu_time_ns;  ///< median of the block medians
  std::optional<double> again_ns;     ///< the same for the confirmation pass of the run
  std::optional<double> median_ns;    ///< of all calls, as in the run file; likewise min and max
  std::optional<double> min_ns;
  std::optional<double> max_ns;
  std::optional<std::string> kernel_ns;  ///< `120 3400`: ns of each kernel in the facts; null without kernels
  /// `metrics` and `metric_directions` of the observation as JSON on one line; null without metrics.
  std::optional<std::string> metrics;
};

/// A run as it is stored.
struct RunRecord : RunHead {
  std::string context;  ///< `context.peakmark` of the run file without `planned`, as JSON on one line
  std::string planned;  ///< `planned` as JSON on one line; the same until the suite changes
  std::int64_t planned_hash = 0;
  std::string digest;  ///< hash of everything: runs with the same id and different digests are an error
  std::vector<ObservationRecord> observations;

  [[nodiscard]] std::int64_t ok() const;  ///< cases with outcome ok
};

/// Converts a run. Throws UsageError, with the reason, for a run that is incomplete or a shard, or lacks id,
/// date or device; for two observations of a case, bytes below 0 or above 2^53 (not exact in a double), and
/// times that are not finite. `with_facts` false: the texts of the facts, which take most of the memory of a
/// large run, stay empty.
RunRecord to_record(const Run& run, bool with_facts = true);
/// Returns the text of the facts of an observation, as to_record() stores it.
std::string facts_text(const Observation& observation);

/// Returns the hash of the facts of a record.
std::int64_t hash_facts(const std::string& facts);

// The functions that read a record throw UsageError if it was not written by to_record(): the history is
// damaged.

/// Converts a record back to a run, without the times of single calls: `blocks` is empty.
Run to_run(const RunRecord& record);

/// Returns the facts of a run that trends need.
trend::HistoryRun to_history_run(RunContext context);
/// Returns these facts from the context of a record.
trend::HistoryRun to_history_run(const std::string& context);

/// Returns the expected outcomes other than `ok`, by case. `planned`: of a record.
std::map<std::string, std::string> expected_outcomes(const std::string& planned);

/// Returns the allowances of the cases that have one. `planned`: of a record.
std::map<std::string, GrowthAllowance> allowed_growth(const std::string& planned);

/// Returns the names of the planned cases. `planned`: of a record.
std::vector<std::string> planned_names(const std::string& planned);

/// Parses the facts of a record to an observation without times.
Observation parse_facts(const std::string& facts);

/// Parses ObservationRecord::metrics to the values by name.
std::map<std::string, double> parse_metrics(const std::string& metrics);

/// Returns the median of the block medians, of all calls if no blocks were kept; null without times.
std::optional<double> median_of_block_medians(const std::optional<GpuTime>& time);

/// Keys of an observation whose values differ in every run; they are not part of the facts.
inline constexpr const char* kTimeKey = "gpu_time_ns";
inline constexpr const char* kTimeHotKey = "gpu_time_hot_ns";
inline constexpr const char* kThrottledKey = "throttled_blocks";
inline constexpr const char* kTimeAgainKey = "gpu_time_again_ns";
inline constexpr const char* kKernelsKey = "kernels";
inline constexpr const char* kMetricsKey = "metrics";
inline constexpr const char* kDirectionsKey = "metric_directions";

/// Returns the cases of a new run that have suspicious times. `device`: the history of its device.
std::vector<std::string> suspicious_cases(trend::DeviceHistory device, const Run& run);

}  // namespace peakmark::history
