#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "compare/moved_allocations.hpp"

namespace peakmark {

/// One recording as it is compared: a process, or a tree of them merged by time.
struct Recorded {
  std::string file;     ///< as it was named
  std::string program;  ///< its command line
  LedgerSummary summary;
};

enum class Change { shrank, same, grew };

/// `shrank`, `same`, `grew`, as in files and tables.
const char* to_string(Change change);

/// One figure of two recordings. Exact: one byte more is `grew`.
struct MetricChange {
  std::string
      metric;  ///< `requested_peak_bytes`, `leaked_bytes`, `total_bytes`, `allocations`, `failed_allocations`
  Size base = 0;
  Size next = 0;
  std::optional<double> relative;  ///< (new − base) / base; none where base is 0
  Change change = Change::same;
};

/// Requests that the driver refused in one of the recordings, or in both.
struct RefusedInBoth {
  RefusedAllocation request;  ///< its `count` is not used
  std::int64_t base_count = 0;
  std::int64_t new_count = 0;
};

struct RecordingComparison {
  Recorded base;
  Recorded next;
  std::vector<MetricChange> metrics;    ///< the peak first
  std::vector<MovedAllocations> moved;  ///< live at the peak of one of them only, or more often
  std::vector<RefusedInBoth> refused;   ///< largest first

  GrowthAllowance allowed_growth;

  [[nodiscard]] bool peak_grew() const { return metrics.front().change == Change::grew; }
  /// Whether the peak grew by more than is allowed.
  [[nodiscard]] bool is_regression() const {
    return allowed_growth.is_exceeded(metrics.front().base, metrics.front().next);
  }
};

RecordingComparison compare_recordings(Recorded base, Recorded next, GrowthAllowance allowed = {});

/// For the console: a line that says what became of the peak, the figures, the allocations that moved.
std::string comparison_table(const RecordingComparison& comparison);

/// `cases`: for each figure an object {case, metric, base, new, relative, interval, verdict, allocations}.
/// `case` is the new recording's command line; `interval` is null, since bytes are exact; `allocations`, of
/// the peak only, is
/// [{name, kind, bytes, base_count, new_count}], and null for the other figures. `refused`: [{bytes, kind,
/// error, error_name, phase, frames, base_count, new_count}].
std::string comparison_json(const RecordingComparison& comparison);

}  // namespace peakmark
