#include "measure/sweep/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace peakmark {

Size parse_peak_limit(std::string_view text) {
  // parse_size() reads a number alone as bytes. In a suite, such a number is more likely a forgotten unit.
  if (text.empty() || text.find_first_not_of("0123456789. ") == std::string_view::npos)
    throw UsageError(fmt::format("'{}' has no unit: write a size such as \"3 GiB\" or \"3000 B\"", text));
  const Size bytes = parse_size(text);
  if (bytes < 1) throw UsageError(fmt::format("'{}' is not a limit: it must be 1 byte or more", text));
  return bytes;
}

double parse_time_limit(std::string_view text) {
  constexpr auto kUnits = std::to_array<std::pair<std::string_view, double>>(
      {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}});
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::size_t unit = std::min(text.find_first_not_of(' ', digits), text.size());
  const std::optional<double> number = parse_number<double>(text.substr(0, digits));
  const auto* const found =
      std::ranges::find(kUnits, text.substr(unit), &std::pair<std::string_view, double>::first);
  if (!number || found == kUnits.end() || *number <= 0 || !std::isfinite(*number * found->second)) {
    throw UsageError(fmt::format(
        "'{}' is not a time: write a number above 0 and a unit (ns, us, ms, s), such as \"2 ms\"", text));
  }
  return *number * found->second;
}

}  // namespace peakmark
