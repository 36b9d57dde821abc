#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "trend/change_finders.hpp"
#include "trend/noise.hpp"

namespace peakmark::trend {
namespace {

/// Whose median must be back: that of fewer may be a state of the machine.
constexpr std::size_t kNightsBack = 14;
constexpr std::size_t kNightsBefore = 30;
constexpr std::size_t kMinBefore = 10;
/// Standard errors by which it must lie on the former level's side of the middle between the two levels.
constexpr double kSure = 2.5;
/// Of a median over a mean, for Gaussian noise: √(π/2).
constexpr double kErrorOfMedian = 1.2533;

/// The time of a run on the log scale, or its ratio to the reference that the change was told of.
std::optional<double> measure_of(const Series& series, const HistoryRun& run, std::size_t at,
                                 const std::string& reference) {
  const std::optional<double>& time = series.values[at];
  std::optional<double> over = 1.0;
  if (reference == "copy") over = run.reference_copy_ns;
  if (reference == "arithmetic") over = run.reference_arithmetic_ns;
  if (!time || !over) return std::nullopt;
  const double value = std::log(*time / *over);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::vector<double> measures_between(const DeviceHistory& history, const Series& series, std::size_t first,
                                     std::size_t end, const std::string& reference) {
  std::vector<double> measures;
  for (std::size_t run = first; run < end; ++run) {
    if (const auto value = measure_of(series, history.runs[run], run, reference)) measures.push_back(*value);
  }
  return measures;
}

double median_of(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return median_in_place(copy);
}

bool is_gone(const DeviceHistory& history, const Series& series, const Change& change,
             std::size_t level_begins) {
  std::vector<double> before =
      measures_between(history, series, level_begins, change.last_before + 1, change.reference);
  if (before.size() < kMinBefore) return false;
  if (before.size() > kNightsBefore) before.erase(before.begin(), before.end() - kNightsBefore);
  const std::vector<double> since =
      measures_between(history, series, change.raised + 1, history.runs.size(), change.reference);
  std::vector<double> scratch(before.size());
  const Noise noise = estimate_noise(before, scratch);
  const double variance = variance_of_mean(kNightsBack, noise.persistence) +
                          variance_of_mean(static_cast<int>(before.size()), noise.persistence);
  const double error = kErrorOfMedian * noise.spread * std::sqrt(variance);
  const double middle = noise.centre + std::log(change.after / change.before) / 2;
  for (std::size_t end = kNightsBack; end <= since.size(); ++end) {
    if (median_of(std::span(since).subspan(end - kNightsBack, kNightsBack)) < middle - kSure * error)
      return true;
  }
  return false;
}

}  // namespace

void close_gone_regressions(const DeviceHistory& history, const Series& series,
                            std::vector<Change>& changes) {
  std::size_t level_begins = 0;
  for (Change& change : changes) {
    if (is_open(change) && is_gone(history, series, change, level_begins)) change.state = State::recovered;
    level_begins = change.first;
  }
}

}  // namespace peakmark::trend
