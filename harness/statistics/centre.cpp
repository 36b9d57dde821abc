#include "statistics/centre.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "base/quantile.hpp"

namespace peakmark {

void check_finite(std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw std::invalid_argument(fmt::format("value {} of {} is no finite number", i + 1, values.size()));
  }
}

double median(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("there is no median of no values");
  check_finite(values);
  return quantile({values.begin(), values.end()}, 0.5);
}

}  // namespace peakmark
