#pragma once

#include <vector>

namespace peakmark {

/// Returns the quantile q (0 … 1) by linear interpolation, like numpy.quantile. `values` must not be empty.
double quantile(std::vector<double> values, double q);

}  // namespace peakmark
