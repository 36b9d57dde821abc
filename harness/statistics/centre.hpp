#pragma once

#include <span>

namespace peakmark {

/// The middle of the values, or the mean of the two in the middle. UsageError when there are none, or one is
/// not finite.
double median(std::span<const double> values);

/// The median of |value − median|, as it is: 1.4826 times it estimates the deviation of Gaussian values.
/// UsageError as `median`.
double median_absolute_deviation(std::span<const double> values);

/// What makes the median absolute deviation of Gaussian values their standard deviation: 1 / Φ⁻¹(3/4).
inline constexpr double kDeviationOfMad = 1.4826022185056018;

/// UsageError, naming the place, when a value is NaN or infinite: an order of such values means nothing.
void check_finite(std::span<const double> values);

}  // namespace peakmark
