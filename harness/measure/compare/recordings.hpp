#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "measure/compare/moved_allocations.hpp"

namespace peakmark {

/// One recording: a process, or a tree of processes merged by time.
struct Recorded {
  std::string file;     ///< in the spelling of the command line
  std::string program;  ///< its command line
  LedgerSummary summary;
};

enum class Change { shrank, same, grew };

/// Returns `shrank`, `same` or `grew`.
const char* to_string(Change change);

/// One figure of two recordings. One byte more is `grew`.
struct MetricChange {
  std::string
      metric;  ///< `requested_peak_bytes`, `leaked_bytes`, `total_bytes`, `allocations`, `failed_allocations`
  Size base = 0;
  Size next = 0;
  std::optional<double> relative;  ///< (new − base) / base; null if base is 0
  Change change = Change::same;
};

/// Allocations that the driver refused in one recording or in both.
struct RefusedInBoth {
  RefusedAllocation request;  ///< `count` is unused
  std::int64_t base_count = 0;
  std::int64_t new_count = 0;
};

struct RecordingComparison {
  Recorded base;
  Recorded next;
  std::vector<MetricChange> metrics;    ///< the peak first
  std::vector<MovedAllocations> moved;  ///< allocations that differ between the peaks
  std::vector<RefusedInBoth> refused;   ///< largest first

  GrowthAllowance allowed_growth;

  [[nodiscard]] bool peak_grew() const { return metrics.front().change == Change::grew; }
  /// Returns true if the peak grew by more than the allowance.
  [[nodiscard]] bool is_regression() const {
    return allowed_growth.is_exceeded(metrics.front().base, metrics.front().next);
  }
};

RecordingComparison compare_recordings(Recorded base, Recorded next, GrowthAllowance allowed = {});

/// Returns the text for the console: the change of the peak, the figures, the allocations that differ.
std::string comparison_table(const RecordingComparison& comparison);

/// Returns JSON. `cases` has an object for each figure: {case, metric, base, new, relative, interval,
/// verdict, allocations}. `case` is the new recording's command line; `interval` is null because bytes are
/// exact. For the peak, `allocations` is [{name, kind, base_bytes, new_bytes, count, text}], otherwise null.
/// `refused`: [{bytes, kind, error, error_name, phase, frames, base_count, new_count}].
nlohmann::ordered_json comparison_json(const RecordingComparison& comparison);

}  // namespace peakmark
