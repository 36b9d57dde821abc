#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "history/history.hpp"
#include "runfile/run_file.hpp"
#include "trend/series.hpp"

namespace peakmark::history {

/// One case of a run as it is stored: facts that repeat exactly are separate from times.
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
  std::optional<double> again_ns;     ///< the same for the second measurement of the run
  std::optional<double> median_ns;    ///< of all calls, as in the run file; likewise min and max
  std::optional<double> min_ns;
  std::optional<double> max_ns;
  std::optional<std::string> kernel_ns;  ///< `120 3400`: ns of each kernel of the facts; null without kernels
};

/// A run as it is stored.
struct RunRecord : RunHead {
  std::string context;  ///< `context.peakmark` of the run file without `planned`, as JSON on one line
  std::string planned;  ///< `planned` as JSON on one line; the same until the suite changes
  std::int64_t planned_hash = 0;
  std::string digest;  ///< of everything: runs with one id and different digests are an error
  std::vector<ObservationRecord> observations;

  [[nodiscard]] std::int64_t ok() const;  ///< cases with outcome ok
};

/// Converts a run. Throws UsageError, with the reason, for a run that is incomplete or a shard, that lacks
/// id, date or device, with two observations of a case, bytes below 0 or above 2^53 (not exact in a double),
/// or times that are not finite. `with_facts` false: the texts of the facts stay empty, which are most of the
/// memory of a large run.
RunRecord to_record(const Run& run, bool with_facts = true);
/// Returns the text of the facts of an observation, as to_record() sets it.
std::string facts_text(const Observation& observation);

/// Returns the hash of the facts of a record.
std::int64_t hash_facts(const std::string& facts);

// The functions that read a record throw UsageError if to_record() did not write it: the history is damaged.

/// Converts a record back to a run, without the single calls of its timing: `blocks` is empty.
Run to_run(const RunRecord& record);

/// Returns what trends need of a run.
trend::HistoryRun to_history_run(RunContext context);
/// Returns the same from the context of a record.
trend::HistoryRun to_history_run(const std::string& context);

/// Returns the outcomes other than `ok` that a plan expects, by case. `planned`: of a record.
std::map<std::string, std::string> expected_outcomes(const std::string& planned);

/// Returns the names of the cases of a plan, `planned` of a record.
std::vector<std::string> planned_names(const std::string& planned);

/// Parses the facts of a record to an observation without times.
Observation parse_facts(const std::string& facts);

/// Parses `at_peak` of the facts of a record.
std::vector<Allocation> parse_at_peak(const std::string& facts);

/// Returns the median of the block medians, of all calls if no blocks were kept; null without times.
std::optional<double> median_of_block_medians(const std::optional<GpuTime>& time);

/// Keys of an observation that never repeat and are not part of the facts.
inline constexpr const char* kTimeKey = "gpu_time_ns";
inline constexpr const char* kTimeHotKey = "gpu_time_hot_ns";
inline constexpr const char* kThrottledKey = "throttled_blocks";
inline constexpr const char* kTimeAgainKey = "gpu_time_again_ns";
inline constexpr const char* kKernelsKey = "kernels";

/// Returns the cases of a new run with suspicious times. `device`: the history of its device.
std::vector<std::string> suspicious_cases(trend::DeviceHistory device, const Run& run);

}  // namespace peakmark::history
