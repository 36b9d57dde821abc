#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/size.hpp"
#include "sweep/description.hpp"

namespace peakmark {

/// What became of a case.
enum class Outcome : std::uint8_t { ok, wrong_answer, out_of_memory, timeout, crashed, unsupported };
std::string_view to_string(Outcome outcome);
/// Throws UsageError that lists the outcomes.
Outcome parse_outcome(std::string_view name);

/// What one estimator answered for one case.
struct EstimateObservation {
  std::string estimator;
  std::string form;
  Size slices_used = 0;
  std::optional<Size> slices_estimated;  ///< asked with the recorded peak as available memory
  std::optional<Size> bytes_estimated;   ///< for the slices used
  std::optional<std::string> dtype;      ///< of the output, as the estimator says
  std::optional<std::string> error;
  bool is_asked = true;  ///< false: the run ended before, and --resume asks it
};

/// One allocation live at the peak; equal names and kinds are one entry each, not summed.
struct PeakEntry {
  std::string name;
  std::string kind;
  Size bytes = 0;

  bool operator==(const PeakEntry&) const = default;
};

struct KernelTime {
  std::string name;
  std::int64_t count = 0;
  std::int64_t ns = 0;
};

struct GpuTime {
  double median_ns = 0;
  double min_ns = 0;
  double max_ns = 0;
  std::vector<std::vector<double>> blocks;  ///< ns a call, in the order measured
  /// Which round each block was taken in (rounds.hpp); none where the blocks are of one process.
  std::optional<std::vector<int>> rounds = std::nullopt;
};

/// Median, least and most over all samples of the blocks, of which there is at least one.
GpuTime summarise_blocks(std::vector<std::vector<double>> blocks);

/// What the last-level cache held when a timed call began.
namespace cache_state {
inline constexpr std::string_view cold = "cold";  ///< nothing of the case: flushed before each call
inline constexpr std::string_view hot = "hot";    ///< what the call before left: calls one after the other
}  // namespace cache_state

/// What a time is the time of.
namespace time_source {
inline constexpr std::string_view device = "device";  ///< the device's own events
inline constexpr std::string_view marks = "marks";    ///< the host's clock, between marks of the program
inline constexpr std::string_view process =
    "process";  ///< the host's clock, from start to end of the program
}  // namespace time_source

struct Observation;
/// Returns the cache state of the times for comparisons: `hot` where the observation has none.
std::string cache_of(const Observation& observation);

/// What one case gave, whatever became of it: facts only. Unknown is nullopt, never 0.
struct Observation {
  std::string case_name;
  Parameters axes;  ///< defaults included
  std::string variant;
  std::string backend;
  Outcome outcome = Outcome::ok;
  /// Why, where it is not `ok`. Of one that is, what to know of its figures: `measured whole: …`, `no time:
  /// …`.
  std::string message;
  std::optional<Size> requested_peak_bytes;
  std::optional<Size> first_call_peak_bytes;
  std::optional<Size> setup_bytes;
  std::optional<Size> input_bytes;  ///< live at the end of inputs, without set-up: half of the floor
  std::optional<Size> output_bytes;
  std::optional<Size> leaked_bytes;
  std::optional<std::int64_t> allocations;
  std::vector<PeakEntry> at_peak;
  std::map<std::string, Size> by_kind;  ///< peak of each kind, the kinds beside the peak too
  std::optional<Size> pool_reserved_peak_bytes;
  /// The memory pass was made twice: the other peak and what moved, when they differ.
  std::optional<Size> second_pass_peak_bytes;
  std::vector<std::string> moved_allocations;
  bool destroys_input = false;
  std::optional<GpuTime> gpu_time;
  /// Of a case that looked suspicious against a history: measured again at the end of the same run.
  std::optional<GpuTime> gpu_time_again;
  std::optional<std::string> time_source;  ///< null without a time
  /// Of `gpu_time` (cache_state). Null without a time, and of programs, whose calls peakmark does not make.
  std::optional<std::string> cache;
  std::optional<GpuTime> gpu_time_hot;  ///< beside a cold `gpu_time`, where both were asked for
  /// Blocks that were taken while the device's clocks were held down, repeated ones too. Null where nothing
  /// reports clocks.
  std::optional<std::int64_t> throttled_blocks;
  std::vector<KernelTime> kernels;
  std::optional<Size> bytes_moved;
  std::optional<double> flops;  ///< of one call, where the variant declares them
  std::optional<std::string> output_dtype;
  std::optional<EstimateObservation> estimate;
  std::vector<EstimateObservation> other_estimates;
};

/// True while an estimator has not been asked about this case (EstimateObservation::is_asked).
bool is_unasked(const Observation& observation);

/// The reference case, once: ns of a device copy and of a kernel that only computes. Null where not timed.
struct ReferenceTime {
  std::optional<double> copy_ns;
  std::optional<double> arithmetic_ns;
  std::optional<Size> copy_bytes = std::nullopt;  ///< read and written by the copy
  friend bool operator==(const ReferenceTime&, const ReferenceTime&) = default;
};

/// The reference case over a run: whether the machine kept its pace, and what pace it was.
struct ReferenceTimes {
  std::optional<double> first_ns;  ///< the copy, before the cases
  std::optional<double> last_ns;   ///< the copy, after them
  /// All times in the order measured: before, between and after the cases.
  std::vector<double> copy_ns;
  std::vector<double> arithmetic_ns;
  std::optional<Size> copy_bytes = std::nullopt;  ///< read and written by one copy; null without one

  void add(const ReferenceTime& time);
  /// Medians over the run; null where it has none.
  [[nodiscard]] ReferenceTime median() const;
};

}  // namespace peakmark
