#include "statistics/centre.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "base/quantile.hpp"

namespace peakmark {

void check_finite(std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw UsageError(fmt::format("value {} of {} is no finite number", i + 1, values.size()));
  }
}

double median(std::span<const double> values) {
  if (values.empty()) throw UsageError("there is no median of no values");
  check_finite(values);
  return quantile({values.begin(), values.end()}, 0.5);
}

double median_absolute_deviation(std::span<const double> values) {
  const double middle = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return quantile(std::move(distances), 0.5);
}

}  // namespace peakmark
