#pragma once

#include <string>

#include "base/error.hpp"
#include "run/run_file.hpp"

namespace peakmark {

/// A measurement that failed (crashed, timeout, wrong_answer), and its suite does not expect that.
bool is_failure(const PlannedCase& planned, const Observation& observation);

/// `12 cases: 9 ok, 2 out_of_memory, 1 crashed`
std::string summary(const Run& run);

/// clean, nothing (every case is unsupported) or measurement.
ExitCode exit_code_of(const Run& run);

}  // namespace peakmark
