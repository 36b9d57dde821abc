#pragma once

#include <string>

#include "base/error.hpp"
#include "run/run_file.hpp"

namespace peakmark {

/// A measurement that failed (crashed, timeout, wrong_answer), and its suite does not expect that.
bool is_failure(const PlannedCase& planned, const Observation& observation);

/// Whether a case of the run was measured: it went well, came to the end that the suite expects, or failed.
/// out_of_memory and unsupported measure nothing unless they are expected.
bool has_measurement(const Run& run);

/// `12 cases: 9 ok, 2 out_of_memory, 1 crashed`
std::string summary(const Run& run);

/// clean, nothing (no has_measurement()) or measurement.
ExitCode exit_code_of(const Run& run);

}  // namespace peakmark
