#pragma once

#include <span>

namespace peakmark {

/// The middle of the values, or the mean of the two in the middle. std::invalid_argument when there are none,
/// or one is not finite.
double median(std::span<const double> values);

/// std::invalid_argument, naming the place, when a value is NaN or infinite: an order of such values means
/// nothing.
void check_finite(std::span<const double> values);

}  // namespace peakmark
