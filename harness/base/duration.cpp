#include "base/duration.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cmath>

namespace peakmark {

std::string format_duration(double nanoseconds) {
  constexpr std::array<const char*, 4> names{"ns", "us", "ms", "s"};
  std::size_t unit = 0;
  // 999.95 would be written as 1000: it is 1 of the next unit.
  while (std::abs(nanoseconds) >= 999.95 && unit + 1 < names.size()) {
    nanoseconds /= 1000;
    ++unit;
  }
  return fmt::format("{:.4g} {}", nanoseconds, names[unit]);
}

std::string utc_date(std::chrono::system_clock::time_point when) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(when)));
}

}  // namespace peakmark
