#pragma once

#include <optional>
#include <string_view>

#include "base/size.hpp"

namespace peakmark {

/// Absolute limits of a case, which its suite sets. Null: none.
struct Limits {
  std::optional<Size> peak_bytes;         ///< `max_peak`
  std::optional<double> peak_over_floor;  ///< `max_peak_over_floor`: of peak / (input_bytes + output_bytes)
  std::optional<double> time_ns;          ///< `max_time`: of the median

  friend bool operator==(const Limits&, const Limits&) = default;
};

/// Parses `3 GiB` or `3000 B`. Throws UsageError for 0 and for a number without a unit.
Size parse_peak_limit(std::string_view text);
/// Parses `2 ms` or `1.5 s`: ns, us, ms or s. Returns nanoseconds. Throws UsageError unless it is above 0.
double parse_time_limit(std::string_view text);

}  // namespace peakmark
