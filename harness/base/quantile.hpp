#pragma once

#include <vector>

namespace peakmark {

/// The quantile q (0 … 1) by linear interpolation, as numpy.quantile. `values` must not be empty.
double quantile(std::vector<double> values, double q);

}  // namespace peakmark
