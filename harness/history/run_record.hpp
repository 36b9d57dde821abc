#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "history/run_head.hpp"
#include "runfile/run_file.hpp"
#include "trend/series.hpp"

namespace peakmark::history {

/// One case of a run, as the history keeps it: what a run repeats to the byte apart from what never repeats.
struct ObservationRecord {
  std::string case_name;
  std::string outcome;
  std::optional<Size> requested_peak_bytes;
  std::optional<Size> setup_bytes;
  std::optional<Size> leaked_bytes;
  std::optional<Size> bytes_estimated;
  /// The observation without its times, as JSON on one line: the same night after night, so that it is stored
  /// once.
  std::string facts;
  std::int64_t facts_hash = 0;

  std::optional<double> gpu_time_ns;  ///< median of the block medians
  std::optional<double> again_ns;     ///< the same of the second measurement of the night
  std::optional<double> median_ns;    ///< of all calls, as the run file has it; so min and max
  std::optional<double> min_ns;
  std::optional<double> max_ns;
  std::optional<std::string> kernel_ns;  ///< `120 3400`: ns of each kernel of the facts; null without any
};

/// A run, as the history keeps it.
struct RunRecord : RunHead {
  std::string context;  ///< `context.peakmark` of the run file without `planned`, as JSON on one line
  std::string planned;  ///< `planned`, as JSON on one line: the same as long as the suite is
  std::int64_t planned_hash = 0;
  std::string digest;  ///< of all: two runs of one id are one run, or somebody made a mistake
  std::vector<ObservationRecord> observations;

  [[nodiscard]] std::int64_t ok() const;  ///< cases that went well
};

/// Throws UsageError, saying why, for a run that no history takes: cut short (not complete, a planned case
/// without observation), a shard, without id, date or device, two observations of a case, bytes below 0 or
/// beyond 2^53 (trends could not tell them apart), times that are no finite numbers.
RunRecord to_record(const Run& run);

/// Digest of a run that was redacted: its contents can be compared with nothing any more.
inline constexpr const char* kRedactedDigest = "redacted";

/// True where the context of a record holds variables that are not published, as those of earlier versions
/// do.
bool holds_private_facts(const std::string& context);

/// The hash of the facts of a record.
std::int64_t facts_hash_of(const std::string& facts);

// What reads a record throws UsageError where it is no text that to_record() wrote: the history is damaged.

/// The run again, but for the single calls of its timing: `blocks` is empty.
Run to_run(const RunRecord& record);

/// What trends are told of a run.
trend::HistoryRun night_of(const RunContext& context);
/// The same, of the context of a record.
trend::HistoryRun night_of(const std::string& context);

/// The observation that the facts of a record tell, without times.
Observation observation_of(const std::string& facts);

/// The observation's `at_peak`, of the facts of a record.
std::vector<Allocation> at_peak_of(const std::string& facts);

/// Null without times; the median of the medians of the blocks; where no block was kept, of all calls.
std::optional<double> median_of_block_medians(const std::optional<GpuTime>& time);

/// Keys of an observation that the facts leave out, since they never repeat.
inline constexpr const char* kTimeKey = "gpu_time_ns";
inline constexpr const char* kTimeHotKey = "gpu_time_hot_ns";
inline constexpr const char* kThrottledKey = "throttled_blocks";
inline constexpr const char* kTimeAgainKey = "gpu_time_again_ns";
inline constexpr const char* kKernelsKey = "kernels";

}  // namespace peakmark::history
