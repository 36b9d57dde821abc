#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/size.hpp"
#include "measure/runfile/field_list.hpp"
#include "measure/sweep/description.hpp"
#include "record/ledger/allocation_sequence.hpp"

namespace peakmark {

/// How a case ended.
enum class Outcome : std::uint8_t { ok, wrong_answer, out_of_memory, timeout, crashed, unsupported };
std::string_view to_string(Outcome outcome);
/// Throws UsageError that lists the outcomes.
Outcome parse_outcome(std::string_view name);

/// One named part of an estimate.
struct EstimateTerm {
  std::string name;  ///< the allocation's name in the ledger
  Size per_slice_bytes = 0;
  Size fixed_bytes = 0;
};

template <EitherConst<EstimateTerm> T, typename Fields>
void for_each_field(T& term, Fields& fields) {
  fields("name", term.name);
  fields("per_slice_bytes", term.per_slice_bytes);
  fields("fixed_bytes", term.fixed_bytes);
}

/// The answers of one estimator for one case.
struct EstimateObservation {
  std::string estimator;
  std::string form;
  Size slices_used = 0;
  std::optional<Size> slices_estimated;  ///< for the recorded peak as available memory
  std::optional<Size> bytes_estimated;   ///< for the used slices
  std::optional<std::string> dtype;      ///< of the output, according to the estimator
  std::optional<std::string> error;
  bool is_asked = true;  ///< false: the run stopped before it was asked; --resume asks it
  /// Parts that add up to `bytes_estimated`. Empty if the estimator names none.
  std::vector<EstimateTerm> terms = {};
};

template <EitherConst<EstimateObservation> T, typename Fields>
void for_each_field(T& estimate, Fields& fields) {
  fields("estimator", estimate.estimator);
  fields("form", estimate.form);
  fields("slices_used", estimate.slices_used);
  fields("slices_estimated", estimate.slices_estimated);
  fields("bytes_estimated", estimate.bytes_estimated);
  fields("dtype", estimate.dtype);
  fields("error", estimate.error);
  fields.written_if("asked", estimate.is_asked, estimate.error.has_value());
  fields.written_if("terms", estimate.terms, !estimate.terms.empty());
}

/// One allocation that is live at the peak. Allocations with the same name and kind are separate entries.
struct PeakEntry {
  std::string name;
  std::string kind;
  Size bytes = 0;

  bool operator==(const PeakEntry&) const = default;
};

template <EitherConst<PeakEntry> T, typename Fields>
void for_each_field(T& entry, Fields& fields) {
  fields("name", entry.name);
  fields("kind", entry.kind);
  fields("bytes", entry.bytes);
}

/// Memory that each call of a case leaves behind (`run --repeat-call`).
struct CallLeak {
  std::string name;
  std::string kind;
  std::string phase;
  std::string where;                   ///< its call chain; empty if no call stacks were recorded
  Size bytes = 0;                      ///< sum over all calls but the last
  std::optional<Size> bytes_per_call;  ///< null if they differ
};

template <EitherConst<CallLeak> T, typename Fields>
void for_each_field(T& leak, Fields& fields) {
  fields("name", leak.name);
  fields("kind", leak.kind);
  fields("phase", leak.phase);
  fields("where", leak.where);
  fields("bytes", leak.bytes);
  fields("bytes_per_call", leak.bytes_per_call);
}

/// The end of a program of a suite whose exit code was not 0.
struct ProgramFailure {
  std::optional<int> exit_code;         ///< null: a signal ended it
  std::vector<std::string> last_lines;  ///< of the program's output
};

template <EitherConst<ProgramFailure> T, typename Fields>
void for_each_field(T& failure, Fields& fields) {
  fields("exit_code", failure.exit_code);
  fields("last_lines", failure.last_lines);
}

/// The launches of one kernel, and their total time.
struct KernelTime {
  std::string name;
  std::int64_t count = 0;
  std::int64_t ns = 0;
};

template <EitherConst<KernelTime> T, typename Fields>
void for_each_field(T& kernel, Fields& fields) {
  fields("name", kernel.name);
  fields("count", kernel.count);
  fields("ns", kernel.ns);
}

struct GpuTime {
  double median_ns = 0;
  double min_ns = 0;
  double max_ns = 0;
  std::vector<std::vector<double>> blocks;  ///< ns per call, in the order of measurement
  /// The round (rounds.hpp) of each block. Null if all blocks come from one process.
  std::optional<std::vector<int>> rounds = std::nullopt;
};

template <EitherConst<GpuTime> T, typename Fields>
void for_each_field(T& time, Fields& fields) {
  fields("median", time.median_ns);
  fields("min", time.min_ns);
  fields("max", time.max_ns);
  fields("blocks", time.blocks);
  fields.written_if("rounds", time.rounds, time.rounds.has_value());
}

/// Returns median, minimum and maximum over all samples of the blocks, which must have at least one.
GpuTime summarise_blocks(std::vector<std::vector<double>> blocks);

/// One timing of the reference case: ns of a device copy, and of a kernel that only computes. Null if not
/// timed.
struct ReferenceTime {
  std::optional<double> copy_ns;
  std::optional<double> arithmetic_ns;
  std::optional<Size> copy_bytes = std::nullopt;  ///< read and written by the copy
  friend bool operator==(const ReferenceTime&, const ReferenceTime&) = default;
};

/// The reference case over a run: shows how fast the machine was, and whether its speed drifted.
struct ReferenceTimes {
  std::optional<double> first_ns;  ///< the copy, before the cases
  std::optional<double> last_ns;   ///< the copy, after them
  /// All times in the order of measurement: before, between and after the cases.
  std::vector<double> copy_ns;
  std::vector<double> arithmetic_ns;
  std::optional<Size> copy_bytes = std::nullopt;  ///< read and written by one copy; null without one

  void add(const ReferenceTime& time);
  /// Returns the medians over the run; null if it has no times.
  [[nodiscard]] ReferenceTime median() const;
};

template <EitherConst<ReferenceTimes> T, typename Fields>
void for_each_field(T& times, Fields& fields) {
  fields("first_ns", times.first_ns);
  fields("last_ns", times.last_ns);
  fields("copy_bytes", times.copy_bytes);
  fields("copy_ns", times.copy_ns);
  fields("arithmetic_ns", times.arithmetic_ns);
}

/// The contents of the last-level cache when a timed call begins.
namespace cache_state {
inline constexpr std::string_view cold = "cold";  ///< no data of the case: flushed before each call
inline constexpr std::string_view hot = "hot";    ///< data of the previous call: calls back to back
}  // namespace cache_state

/// The clock that measured a time.
namespace time_source {
inline constexpr std::string_view device = "device";  ///< the device's own events
inline constexpr std::string_view marks = "marks";    ///< the host's clock, between marks of the program
inline constexpr std::string_view process =
    "process";  ///< the host's clock, from start to end of the program
}  // namespace time_source

/// The statistic of the times of single calls that a time is.
namespace time_statistic {
inline constexpr std::string_view median = "median";
inline constexpr std::string_view mean = "mean";  ///< for results of other programs that have no median
}  // namespace time_statistic

/// The beginning of the message of an `ok` case without a time; the reason follows.
inline constexpr std::string_view kNoTime = "no time: ";

/// Whether a larger or a smaller value of a metric is better.
namespace metric_direction {
inline constexpr std::string_view higher = "higher";
inline constexpr std::string_view lower = "lower";
}  // namespace metric_direction

struct Observation;
/// Returns how a time was measured: clock, cache state and statistic, such as `device, cold, median`; if the
/// run has a device class, also the device, by device_key(). The defaults are `hot` and `median`. Times with
/// different methods are never compared: compare, trends and `run --confirm` all use this key.
std::string time_method(const Observation& observation);
/// Returns true if these methods differ at most in the device.
bool differs_in_device_only(std::string_view one, std::string_view other);

/// Returns `version 1 → 2: a new series`.
std::string new_series_text(Size before, Size version);

/// Everything that was measured of one case: only facts. An unknown value is nullopt, never 0.
struct Observation {
  std::string case_name;
  Parameters axes;  ///< including defaults
  std::string variant;
  std::string backend;
  /// PlannedCase::version. Results of different versions are never compared.
  Size version = 1;
  /// The device that measured the case, in a run with a device class: merged shards, or a resumed run, may
  /// have several devices. Null: the device of the run.
  std::optional<std::string> device = std::nullopt;
  Outcome outcome = Outcome::ok;
  /// The reason of an outcome other than `ok`. With `ok`, a note on the figures: `measured whole: …`, `no
  /// time: …`.
  std::string message;
  /// The failure of the last run of a program; null for a variant, and if the program's exit code was 0.
  std::optional<ProgramFailure> program_failure = std::nullopt;
  /// From the start of the case in the worker to its result, by the host's clock, in the first round. Null
  /// inside a worker.
  std::optional<double> seconds;
  std::optional<Size> requested_peak_bytes;
  std::optional<Size> first_call_peak_bytes;
  std::optional<Size> setup_bytes;
  std::optional<Size>
      input_bytes;  ///< live at the end of inputs, without setup: input and output make up the floor
  std::optional<Size> output_bytes;
  std::optional<Size> leaked_bytes;
  std::optional<std::int64_t> allocations;
  /// Arrays of the first memory pass with guards around them (`run --guard`). Null: the case ran without.
  std::optional<std::int64_t> guarded_arrays;
  std::optional<std::int64_t> unguarded_allocations;  ///< the other allocations of that pass
  /// Allocations that the driver, the budget or `peakmark oom` refused in the first memory pass; null: none.
  std::optional<std::int64_t> failed_allocations;
  std::optional<Size> largest_refused_bytes;  ///< the largest of these requests
  std::vector<PeakEntry> at_peak;
  std::map<std::string, Size>
      by_kind;  ///< peak of each kind, including kinds that do not count into the peak
  std::optional<Size> pool_reserved_peak_bytes;
  /// The memory pass is run twice. If the passes differ: the other peak, and the allocations that moved.
  std::optional<Size> second_pass_peak_bytes;
  std::vector<std::string> moved_allocations;
  /// From the first memory pass. Null if it was not requested (`run --sequences`), or is too long. A program
  /// that ended in an orderly way after a failed allocation also has it.
  std::optional<AllocationSequence> allocation_sequence;
  /// Number of calls that were made to find leaks of each call, and these leaks. Null if none were made. For
  /// a program: how often its most frequent phase occurs.
  std::optional<std::int64_t> repeated_calls;
  std::vector<CallLeak> call_leaks;
  /// Growth of the peak of such a call over the second half of the calls, if it grew repeatedly.
  std::optional<Size> peak_drift_bytes;
  bool destroys_input = false;
  std::optional<GpuTime> gpu_time;
  /// For a case that was suspicious compared with a history: timed again at the end of the same run.
  std::optional<GpuTime> gpu_time_again;
  std::optional<std::string> time_source;  ///< null without a time
  /// State of the cache for `gpu_time` (cache_state). Null without a time, and for programs, because peakmark
  /// does not make their calls.
  std::optional<std::string> cache;
  /// The statistic in `gpu_time` (time_statistic). Null: the median.
  std::optional<std::string> statistic;
  std::optional<GpuTime> gpu_time_hot;  ///< in addition to a cold `gpu_time`, if both were requested
  /// Blocks that were measured while the device's clocks were throttled, including repeated ones. Null if no
  /// clocks are reported.
  std::optional<std::int64_t> throttled_blocks;
  std::vector<KernelTime> kernels;
  std::optional<Size> bytes_moved;
  std::optional<double> flops;  ///< of one call, if the variant declares them
  /// Numbers that the program reports beside bytes and times, by name (add_metric()).
  std::map<std::string, double> metrics;
  std::map<std::string, std::string> metric_directions;  ///< metric_direction; of metrics that have one
  std::optional<std::string> output_dtype;
  std::optional<EstimateObservation> estimate;
  std::vector<EstimateObservation> other_estimates;
};

template <EitherConst<Observation> T, typename Fields>
void for_each_field(T& observation, Fields& fields) {
  fields("case", observation.case_name);
  fields("axes", observation.axes);
  fields("variant", observation.variant);
  fields("backend", observation.backend);
  fields.written_if("version", observation.version, observation.version != 1);
  fields.written_if("device", observation.device, observation.device.has_value());
  fields("outcome", observation.outcome);
  fields("message", observation.message);
  fields.written_if("program_failure", observation.program_failure, observation.program_failure.has_value());
  fields.written_if("seconds", observation.seconds, observation.seconds.has_value());
  fields.bytes("requested_peak_bytes", observation.requested_peak_bytes);
  fields.bytes("first_call_peak_bytes", observation.first_call_peak_bytes);
  fields.bytes("setup_bytes", observation.setup_bytes);
  // The bytes that these steps added: below 0 if a step released more, for example memory that setup had
  // allocated.
  fields("input_bytes", observation.input_bytes);
  fields("output_bytes", observation.output_bytes);
  fields.bytes("leaked_bytes", observation.leaked_bytes);
  fields("allocations", observation.allocations);
  fields.written_if("guarded_arrays", observation.guarded_arrays, observation.guarded_arrays.has_value());
  fields.written_if("unguarded_allocations", observation.unguarded_allocations,
                    observation.unguarded_allocations.has_value());
  fields.written_if("failed_allocations", observation.failed_allocations,
                    observation.failed_allocations.has_value());
  fields.written_if("largest_refused_bytes", observation.largest_refused_bytes,
                    observation.largest_refused_bytes.has_value());
  fields("at_peak", observation.at_peak);
  fields("by_kind", observation.by_kind);
  fields.bytes("pool_reserved_peak_bytes", observation.pool_reserved_peak_bytes);
  fields.bytes("second_pass_peak_bytes", observation.second_pass_peak_bytes);
  fields("moved_allocations", observation.moved_allocations);
  fields.written_if("allocation_sequence", observation.allocation_sequence,
                    observation.allocation_sequence.has_value());
  fields.written_if("repeated_calls", observation.repeated_calls, observation.repeated_calls.has_value());
  fields.written_if("call_leaks", observation.call_leaks, observation.repeated_calls.has_value());
  fields.written_if("peak_drift_bytes", observation.peak_drift_bytes,
                    observation.peak_drift_bytes.has_value());
  fields("destroys_input", observation.destroys_input);
  fields("gpu_time_ns", observation.gpu_time);
  fields("gpu_time_again_ns", observation.gpu_time_again);
  fields("time_source", observation.time_source);
  fields("cache", observation.cache);
  fields.written_if("time_statistic", observation.statistic, observation.statistic.has_value());
  fields("gpu_time_hot_ns", observation.gpu_time_hot);
  fields("throttled_blocks", observation.throttled_blocks);
  fields("kernels", observation.kernels);
  fields("bytes_moved", observation.bytes_moved);
  fields("flops", observation.flops);
  fields.written_if("metrics", observation.metrics, !observation.metrics.empty());
  fields.written_if("metric_directions", observation.metric_directions,
                    !observation.metric_directions.empty());
  fields("output_dtype", observation.output_dtype);
  fields("estimate", observation.estimate);
  fields("other_estimates", observation.other_estimates);
}

/// Returns true while an estimator has not been asked about this case (EstimateObservation::is_asked).
bool is_unasked(const Observation& observation);

/// Largest number of metrics of a case.
inline constexpr std::size_t kMaxMetrics = 64;
/// Adds a metric that a program reports. `direction`: empty if neither direction is better. Throws UsageError
/// for a value that is not finite, a name that is not valid (check_metric_name()) or used twice, and more
/// than kMaxMetrics.
void add_metric(Observation& observation, const std::string& name, double value, std::string_view direction);

}  // namespace peakmark
