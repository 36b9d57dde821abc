#include "measure/sweep/float_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/sweep/parameters.hpp"
#include "measure/sweep/suite.hpp"

namespace peakmark {
namespace {

/// Returns the number of decimals with which the number is written without an exponent.
int count_decimals(double number) {
  constexpr int kMax = 340;  // of the smallest double, rounded to the 17 digits that identify it
  int decimals = 0;
  while (decimals < kMax && parse_float(fmt::format("{:.{}f}", number, decimals)) != number) ++decimals;
  return decimals;
}

}  // namespace

std::vector<double> expand_range(double from, double to, double step, const SourceLocation& place) {
  if (!(step > 0)) fail(place, fmt::format("step must be above 0, not {}", float_text(step)));
  if (!(from <= to)) fail(place, fmt::format("empty range: {} to {}", float_text(from), float_text(to)));
  // The last value may miss `to` by a rounding error.
  const double steps = std::floor((to - from) / step + 1e-9);
  if (!(steps < kMaxCases)) fail(place, fmt::format("range of more than {} values", kMaxCases));
  const int decimals = std::max(count_decimals(from), count_decimals(step));
  std::vector<double> values;
  for (Size i = 0; i <= static_cast<Size>(steps); ++i)
    values.push_back(*parse_float(fmt::format("{:.{}f}", from + static_cast<double>(i) * step, decimals)));
  return values;
}

}  // namespace peakmark
