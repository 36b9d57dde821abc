#pragma once

#include <vector>

#include "measure/sweep/source_location.hpp"

namespace peakmark {

/// Returns from, from + step, … up to `to`, each rounded to the decimals of `from` and `step`: a sum would
/// give 0.30000000000000004 as the third value of 0.1, 0.2, 0.3. Fails at `place` if the range is empty, the
/// step is not above 0, or there are more than kMaxCases values.
std::vector<double> expand_range(double from, double to, double step, const SourceLocation& place);

}  // namespace peakmark
