#include "measure/sweep/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace peakmark {

namespace {

/// parse_size() reads a number alone as bytes. In a suite, such a number is more likely a forgotten unit.
bool has_no_unit(std::string_view text) {
  return text.empty() || text.find_first_not_of("0123456789. ") == std::string_view::npos;
}

}  // namespace

MetricLimit& Limits::metric(std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &MetricLimit::name);
  if (found != metrics.end()) return *found;
  return metrics.emplace_back(MetricLimit{std::string(name), std::nullopt, std::nullopt});
}

void Limits::replace(const Limits& other) {
  const auto set = [](auto& known, const auto& value) {
    if (value) known = value;
  };
  set(peak_bytes, other.peak_bytes);
  set(peak_over_floor, other.peak_over_floor);
  set(time_ns, other.time_ns);
  set(growth, other.growth);
  set(shrinking, other.shrinking);
  for (const MetricLimit& one : other.metrics) {
    MetricLimit& limit = metric(one.name);
    set(limit.min, one.min);
    set(limit.max, one.max);
  }
}

bool operator==(const Limits& one, const Limits& other) {
  const auto facts = [](const Limits& limits) {
    const auto text = [](const auto& allowance) { return allowance ? allowance->text : std::string(); };
    return std::tuple(limits.peak_bytes, limits.peak_over_floor, limits.time_ns, text(limits.growth),
                      text(limits.shrinking), limits.metrics);
  };
  return facts(one) == facts(other);
}

bool Limits::covers_growth(Size base, Size next) const {
  return growth && growth->covers(base, next);
}

bool Limits::shrank_too_far(Size base, Size next) const {
  return shrinking && next < base && base - next > shrinking->of(base);
}

GrowthAllowance parse_allowance(std::string_view text) {
  if (has_no_unit(text)) {
    throw UsageError(
        fmt::format("'{}' has no unit: write a percentage or a size, such as \"5 %\" or \"64 KiB\"", text));
  }
  return parse_growth_allowance(text);
}

Size parse_peak_limit(std::string_view text) {
  if (has_no_unit(text))
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
