#include "analyse/trend/time_views.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

namespace peakmark::trend {
namespace {

constexpr std::size_t kChooseEvery = 5;  ///< runs
/// Share of the runs that must have the reference.
constexpr double kCovered = 0.8;
constexpr std::size_t kTypicalOf = 31;  ///< runs
/// Views are compared by the noise of the mean of this many runs.
constexpr int kWeek = 7;
constexpr std::array<const char*, References::kViews> kNames{"", "copy", "arithmetic"};

std::optional<double> log_or_null(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value) || *value <= 0) return std::nullopt;
  return std::log(*value);
}

std::optional<double> log_reference(const HistoryRun& run, References::View view) {
  return log_or_null(view == References::copy ? run.reference_copy_ns : run.reference_arithmetic_ns);
}

double typical(const std::deque<double>& last) {
  std::vector<double> values(last.begin(), last.end());
  return median_in_place(values);
}

double noise_of_a_week(const ChangePointDetector& detector) {
  const std::optional<Noise> noise = detector.noise();
  return noise ? noise->spread * std::sqrt(variance_of_mean(kWeek, noise->persistence)) : 0;
}

}  // namespace

References::References(const std::vector<HistoryRun>& runs) {
  for (const View view : {copy, arithmetic}) {
    std::deque<double> last;
    for (const HistoryRun& run : runs) {
      if (const auto first = log_reference(run, view); first && last.empty()) last.push_back(*first);
    }
    if (last.empty()) continue;  // no run has it
    for (const HistoryRun& run : runs) {
      const std::optional<double> known = log_reference(run, view);
      logs_[view].push_back(known ? *known : typical(last));
      is_known_[view].push_back(known.has_value());
      if (known) last.push_back(*known);
      if (last.size() > kTypicalOf) last.pop_front();
    }
  }
}

TimeViews::TimeViews(const Series& series, const References& references, const TrendOptions& options)
    : references_(references),
      options_(options),
      detectors_{ChangePointDetector(options.detector), ChangePointDetector(options.detector),
                 ChangePointDetector(options.detector)} {
  for (const auto& value : series.values) logs_.push_back(log_or_null(value));
  for (const auto& value : series.confirmations) confirmations_.push_back(log_or_null(value));
}

double TimeViews::value(std::size_t run, bool both, View view) const {
  const double reference = references_.log(view, run);
  const double first = *logs_[run] - reference;
  return both ? detectors_[view].settle(first, *confirmations_[run] - reference) : first;
}

TimeScan TimeViews::scan(std::size_t run, bool both) const {
  TimeScan latest;
  latest.scan = detectors_[chosen_].scan(value(run, both, chosen_));
  if (latest.scan.runs == 0) return latest;  // no change, as for most runs
  if (chosen_ == References::plain) {
    latest.level_ns = std::exp(latest.scan.before);
    return latest;
  }
  ChangePointDetector plain_now = detectors_[References::plain];
  plain_now.add(value(run, both, References::plain));
  latest.reference = kNames[chosen_];
  latest.level_ns = std::exp(plain_now.level_before(latest.scan.runs));
  // The plain time must show at least half of the step; else only the reference changed.
  if (plain_now.step(latest.scan.runs) / latest.scan.effect < 0.5) {
    latest.scan.score = 0;
    latest.scan.suspicion = 0;
    latest.scan.runs = 0;
  }
  return latest;
}

void TimeViews::add(std::size_t run, bool both) {
  for (const View view : {References::plain, References::copy, References::arithmetic}) {
    // A view without references is never chosen.
    if (view != References::plain && !references_.exists(view)) continue;
    detectors_[view].add(value(run, both, view));
    measured_[view].push_back(references_.has(view, run));
  }
  if (++runs_ % kChooseEvery == 0) choose();
}

void TimeViews::begin_level(std::size_t runs) {
  for (ChangePointDetector& detector : detectors_) detector.begin_level(runs);
}

void TimeViews::return_to_former_level(std::size_t runs) {
  for (ChangePointDetector& detector : detectors_) detector.return_to_former_level(runs);
}

void TimeViews::choose() {
  if (!detectors_[References::plain].has_min_runs()) return;  // too few runs: keep the view
  double least = options_.quieter * noise_of_a_week(detectors_[References::plain]);
  chosen_ = References::plain;
  for (const View view : {References::copy, References::arithmetic}) {
    if (!references_.exists(view)) continue;
    const std::vector<bool>& measured = measured_[view];
    const std::size_t considered = std::min(measured.size(), options_.detector.baseline_runs);
    const auto covered =
        std::count(measured.end() - static_cast<std::ptrdiff_t>(considered), measured.end(), true);
    if (static_cast<double>(covered) < kCovered * static_cast<double>(considered)) continue;
    if (const double noise = noise_of_a_week(detectors_[view]); noise < least) {
      least = noise;
      chosen_ = view;
    }
  }
}

}  // namespace peakmark::trend
