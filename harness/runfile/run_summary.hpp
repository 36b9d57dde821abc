#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/error.hpp"
#include "runfile/run_file.hpp"
#include "sweep/suite.hpp"

namespace peakmark {

/// How a case ended, as every output calls it.
enum class CaseEnd : std::uint8_t {
  measured,     ///< `ok`: its figures can be judged
  as_expected,  ///< another outcome, which the suite expects
  skipped,      ///< not measured: `unsupported`, expected or not, and `out_of_memory` that is not expected
  failed,       ///< `crashed`, `timeout` or `wrong_answer`, not expected
};
CaseEnd end_of(const PlannedCase& planned, const Observation& observation);

/// `ok`, `as expected (crashed)`, `skipped (unsupported)`, `timeout`.
std::string text_of(CaseEnd end, Outcome outcome);

/// `unsupported: no f64 here`: the outcome, and why.
std::string reason_of(const Observation& observation);

/// The planned cases of a run by their names.
std::unordered_map<std::string_view, const PlannedCase*> planned_by_name(const Run& run);

/// A measurement that failed (crashed, timeout, wrong_answer), and its suite does not expect that.
bool is_failure(const PlannedCase& planned, const Observation& observation);

/// Whether any case of the run was measured, that is not skipped.
bool has_measurement(const Run& run);

/// Whether a command on this run ends with exit code 4: nothing was measured. Never of a shard, which is a
/// part of a run: `merge` of all shards judges.
bool is_unmeasured(const Run& run);

/// `12 cases: 9 ok, 1 crashed, 2 skipped (1 out_of_memory, 1 unsupported)`
std::string summary(const Run& run);

/// clean, nothing (is_unmeasured()) or measurement.
ExitCode exit_code_of(const Run& run);

/// Where the device's own records and its events may lie apart, records over events.
inline constexpr Window kRecordsAgree{0.95, 1.05};

/// Shorter than this, the marks of the events and the launch between them weigh some per cent themselves.
inline constexpr double kMinComparedNs = 200e3;

/// The time of a call by the device's own records over the median by its events. Null where the two say
/// different things of a good measurement: a call of several launches, copies or fills (their gaps, and the
/// host's waits, are in the events alone; what runs side by side is twice in the records), one shorter than
/// kMinComparedNs, and one without records or events.
std::optional<double> records_over_events(const Observation& observation);

/// The cases whose records and events do not agree, for the end of a run; empty where there is none.
std::string kernel_time_warning(const Run& run);

}  // namespace peakmark
