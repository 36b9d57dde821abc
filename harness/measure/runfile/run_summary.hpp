#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "measure/runfile/outcome_level.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/sweep/suite.hpp"

namespace peakmark {

/// How a case ended, in the words of every output.
enum class CaseEnd : std::uint8_t {
  measured,     ///< `ok`: its figures can be judged
  as_expected,  ///< another outcome, which the suite expects
  skipped,      ///< not measured: `unsupported`, expected or not, or an unexpected `out_of_memory`
  failed,       ///< `crashed`, `timeout` or `wrong_answer`, not expected
};
CaseEnd end_of(const PlannedCase& planned, const Observation& observation);
/// Returns the level of an outcome of the case.
OutcomeLevel level_of(const PlannedCase& planned, Outcome outcome);

/// Returns `ok`, `as expected (crashed)`, `skipped (unsupported)`, `timeout`.
std::string text_of(CaseEnd end, Outcome outcome);

/// Allocations with the same name and kind that are live at the peak.
struct PeakGroup {
  std::string name;  ///< may be empty
  std::string kind;
  std::size_t count = 0;
  Size largest_bytes = 0;
  Size bytes = 0;  ///< sum over all
};
/// Groups the allocations that are live at a peak, the most bytes first.
std::vector<PeakGroup> group_peak(const std::vector<PeakEntry>& entries);
/// Returns `radios 154 KiB`; for several allocations `11 × buffer, largest 96 MiB`.
std::string to_text(const PeakGroup& group);

/// Returns outcome and reason: `unsupported: no f64 here`.
std::string reason_of(const Observation& observation);

/// Returns the planned cases of a run by name.
std::unordered_map<std::string_view, const PlannedCase*> planned_by_name(const RunContext& context);

/// Returns true for a case that crashed, timed out or was wrong, if its suite does not expect that.
bool is_failure(const PlannedCase& planned, const Observation& observation);

/// Returns true if any case of the run was measured, that is, not skipped.
bool has_measurement(const Run& run);

/// Returns true if a command on this run ends with exit code 4: nothing was measured. Always false for a
/// shard, which `merge` judges together with the others.
bool is_unmeasured(const Run& run);

/// Returns `12 cases: 9 ok, 1 crashed, 2 skipped (1 out_of_memory, 1 unsupported)`.
std::string summary(const Run& run);

/// Returns clean, nothing (is_unmeasured()) or measurement.
ExitCode exit_code_of(const Run& run);

/// The range of the ratio of the device's records to its events that counts as agreement.
inline constexpr Window kRecordsAgree{0.95, 1.05};

/// In shorter calls, the events and the launch between them take a few per cent of the time.
inline constexpr double kMinComparedNs = 200e3;

/// Returns the time of a call by the device's kernel records, divided by its median by the device's events.
/// Null if the two may differ in a good measurement: calls with several launches, copies or fills (gaps count
/// only in the events, concurrent work counts twice in the records), calls shorter than kMinComparedNs, and
/// calls without records or events.
std::optional<double> records_over_events(const Observation& observation);

/// Returns a warning that lists the cases whose records and events disagree; empty if there is none.
std::string kernel_time_warning(const Run& run);

}  // namespace peakmark
