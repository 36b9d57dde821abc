#pragma once

#include <string>
#include <vector>

#include "measure/sweep/suite_document.hpp"

namespace peakmark {

/// Reads axes of the command line: `nx=4096,8192`, `mode=edge,wrap`, `n=4..64` (every integer), `n=4..64:20`
/// (every twentieth) and `sigma=0.5..2:0.5`. A value that is not an integer is a word until its axis is
/// known. Throws UsageError.
std::vector<AxisValues> parse_typed_axes(const std::vector<std::string>& texts);

/// Throws UsageError if an axis has a value twice.
void refuse_repeated_values(const AxisValues& axis);

/// Returns a suite with one sweep: variants, which may be patterns, that are named on the command line.
SuiteDocument typed_suite(const std::vector<std::string>& variants, const std::vector<AxisValues>& axes);

/// Replaces the values of an axis, or its formula, or adds the axis.
void replace_axis(SweepDocument& sweep, const AxisValues& typed);

}  // namespace peakmark
