#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/ledger.hpp"

/// What a history holds, as trends are looked for in it: plain lists, no database. The history fills them,
/// `find_trends()` reads them.
namespace peakmark::trend {

namespace metric {
inline constexpr std::string_view requested_peak_bytes = "requested_peak_bytes";
inline constexpr std::string_view setup_bytes = "setup_bytes";
inline constexpr std::string_view leaked_bytes = "leaked_bytes";
inline constexpr std::string_view gpu_time_ns = "gpu_time_ns";        ///< median of the block medians
inline constexpr std::string_view estimate_ratio = "estimate_ratio";  ///< requested peak / bytes estimated
inline constexpr std::array all{requested_peak_bytes, setup_bytes, leaked_bytes, gpu_time_ns, estimate_ratio};
/// Bytes repeat to the byte: any change of them is an event.
constexpr bool is_exact(std::string_view name) {
  return name == requested_peak_bytes || name == setup_bytes || name == leaked_bytes;
}
}  // namespace metric

/// One run on one device, as the history knows it. Two runs of a night, or of one commit, are two entries.
struct HistoryRun {
  std::string id;
  std::string date;  ///< ISO 8601, UTC, when the run began
  std::string suite;
  std::string commit;  ///< empty where unknown, as all texts here
  std::string device;
  std::string backend;
  std::string driver;
  std::string platform;
  std::string build;
  std::string host_name;
  /// Of all cases of the suite, whether the run planned them or not.
  std::string fingerprint;
  /// Why the run did not plan them all: a regular expression that names had to hold, and the variants that
  /// were compared. Null and empty: for no reason, or the run does not tell.
  std::optional<std::string> filter;
  /// `run --backend`, which took the place of the suite's own backends. Null: none, or the run does not tell.
  std::optional<std::string> asked_backend;
  std::vector<std::string> variants;
  /// ns, median over the run. Null where the run timed no such case.
  std::optional<double> reference_copy_ns;
  std::optional<double> reference_arithmetic_ns;
  std::map<std::string, std::string>
      environment;  ///< of the run's context: clocks, kernel, CPU, variables, …
};

/// One metric of one case along the runs of a device. Lists have the length of DeviceHistory::runs.
struct Series {
  std::string case_name;
  std::string metric;
  /// Null where the run has no such value. Bytes are exact in a double up to 2^53; who fills this checks
  /// that. What is not finite is taken as null.
  std::vector<std::optional<double>> values;
  /// The value of the second measurement that `run --confirm` made in the same run, null where it made none;
  /// empty where no run of the series did. Only times have them.
  std::vector<std::optional<double>> confirmations;
  /// Of times: `cold` or `hot`. Runs of the other state have null here, since the two are never compared.
  std::string cache = {};
};

/// What became of a case in each run (`ok`, `crashed`, …). Null where the run did not plan it.
struct CaseOutcomes {
  std::string case_name;
  std::vector<std::optional<std::string>> outcomes;
};

/// A change that somebody called intended: the level of `metric` from `from_run` on is the new baseline.
struct Acceptance {
  std::string case_name;
  std::string metric;    ///< empty: every metric of the case
  std::string from_run;  ///< id of the first run of the new level
  std::string who;
  std::string when;  ///< ISO 8601, UTC
  std::string reason;
};

/// All that is known of one device of one backend. Runs stand in order of their date, equal dates in the
/// order in which they were added; what is asked of them is their order, never the time between two.
struct DeviceHistory {
  std::string device;
  std::string backend;
  std::vector<HistoryRun> runs;
  std::vector<Series> series;          ///< in order of case name, then of metric
  std::vector<CaseOutcomes> outcomes;  ///< in order of case name
  std::vector<Acceptance> acceptances;
};

/// The index of a run; null where the history has it no more.
std::optional<std::size_t> find_run(const DeviceHistory& history, const std::string& id);

/// What was live at the peak of a case in a run; empty where the history does not know it. Asked only for the
/// runs before and at a change of bytes.
using AllocationsAtPeak =
    std::function<std::vector<Allocation>(const std::string& case_name, const std::string& run_id)>;

}  // namespace peakmark::trend
