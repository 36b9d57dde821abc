#include "measure/sweep/metric_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace peakmark {
namespace {

// Names that a table, a file or an option of peakmark gives to a figure of its own. A test compares them with
// the keys of an observation.
constexpr auto kTaken = std::to_array<std::string_view>({"allocation_sequence",
                                                         "allocations",
                                                         "at_peak",
                                                         "axes",
                                                         "backend",
                                                         "by_kind",
                                                         "bytes_moved",
                                                         "cache",
                                                         "call_leaks",
                                                         "case",
                                                         "destroys_input",
                                                         "device",
                                                         "estimate",
                                                         "estimate_ratio",
                                                         "failed_allocations",
                                                         "figure",
                                                         "first_call_peak_bytes",
                                                         "floor",
                                                         "flops",
                                                         "gpu_time",
                                                         "gpu_time_again_ns",
                                                         "gpu_time_hot_ns",
                                                         "gpu_time_ns",
                                                         "guarded_arrays",
                                                         "input_bytes",
                                                         "kernels",
                                                         "largest_refused_bytes",
                                                         "leaked_bytes",
                                                         "message",
                                                         "metric_directions",
                                                         "metrics",
                                                         "moved_allocations",
                                                         "other_estimates",
                                                         "outcome",
                                                         "output_bytes",
                                                         "output_dtype",
                                                         "overhead",
                                                         "peak",
                                                         "peak_drift_bytes",
                                                         "pool_reserved_peak_bytes",
                                                         "program_failure",
                                                         "repeated_calls",
                                                         "requested_peak_bytes",
                                                         "second_pass_peak_bytes",
                                                         "seconds",
                                                         "setup",
                                                         "setup_bytes",
                                                         "throttled_blocks",
                                                         "throughput",
                                                         "time",
                                                         "time_source",
                                                         "time_statistic",
                                                         "unguarded_allocations",
                                                         "variant",
                                                         "verdict",
                                                         "version"});

bool is_identifier(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  constexpr std::string_view kLater = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !name.empty() && kLetters.find(name.front()) != std::string_view::npos &&
         name.find_first_not_of(kLater) == std::string_view::npos;
}

}  // namespace

void check_metric_name(std::string_view name) {
  if (!is_identifier(name)) {
    throw UsageError(fmt::format(
        "'{}' is not the name of a metric: use letters, digits and _, without a digit at the beginning",
        name));
  }
  if (std::ranges::binary_search(kTaken, name)) {
    throw UsageError(fmt::format(
        "a metric cannot be called '{}', which is a figure of peakmark: choose another name", name));
  }
}

}  // namespace peakmark
