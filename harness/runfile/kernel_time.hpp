#pragma once

#include <optional>
#include <string>

#include "runfile/run_file.hpp"
#include "sweep/suite.hpp"

namespace peakmark {

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
