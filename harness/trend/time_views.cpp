#include "trend/time_views.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

namespace peakmark::trend {
namespace {

constexpr std::size_t kChooseEvery = 5;  ///< nights
/// Of the nights looked at, so many must have had the reference.
constexpr double kCovered = 0.8;
constexpr std::size_t kTypicalOf = 31;  ///< nights
/// The noise that counts is that of a level of a week.
constexpr int kWeek = 7;
constexpr std::array<const char*, References::kViews> kNames{"", "copy", "arithmetic"};

std::optional<double> log_of(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value) || *value <= 0) return std::nullopt;
  return std::log(*value);
}

std::optional<double> reference_of(const HistoryRun& run, References::View view) {
  return log_of(view == References::copy ? run.reference_copy_ns : run.reference_arithmetic_ns);
}

double typical(const std::deque<double>& last) {
  std::vector<double> values(last.begin(), last.end());
  return median_in_place(values);
}

double noise_of_a_week(const ChangePointDetector& watch) {
  const std::optional<Noise> noise = watch.noise();
  return noise ? noise->spread * std::sqrt(variance_of_mean(kWeek, noise->persistence)) : 0;
}

}  // namespace

References::References(const std::vector<HistoryRun>& runs) {
  for (const View view : {copy, arithmetic}) {
    std::deque<double> last;
    for (const HistoryRun& run : runs) {
      if (const auto first = reference_of(run, view); first && last.empty()) last.push_back(*first);
    }
    if (last.empty()) continue;  // nobody timed it
    for (const HistoryRun& run : runs) {
      const std::optional<double> known = reference_of(run, view);
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
      watches_{ChangePointDetector(options.watch), ChangePointDetector(options.watch),
               ChangePointDetector(options.watch)} {
  for (const auto& value : series.values) logs_.push_back(log_of(value));
  for (const auto& value : series.confirmations) confirmations_.push_back(log_of(value));
}

double TimeViews::value(std::size_t run, bool both, View view) const {
  const double reference = references_.log(view, run);
  const double first = *logs_[run] - reference;
  return both ? watches_[view].settle(first, *confirmations_[run] - reference) : first;
}

TimePass TimeViews::look(std::size_t run, bool both) const {
  TimePass look;
  look.scan = watches_[chosen_].look(value(run, both, chosen_));
  if (look.scan.nights == 0) return look;  // as on most nights
  if (chosen_ == References::plain) {
    look.level_ns = std::exp(look.scan.before);
    return look;
  }
  ChangePointDetector plain_now = watches_[References::plain];
  plain_now.add(value(run, both, References::plain));
  look.reference = kNames[chosen_];
  look.level_ns = std::exp(plain_now.level_before(look.scan.nights));
  // A step of the reference alone is none of the case: the plain time must have made half of it at least.
  if (plain_now.step(look.scan.nights) / look.scan.effect < 0.5) {
    look.scan.score = 0;
    look.scan.suspicion = 0;
    look.scan.nights = 0;
  }
  return look;
}

void TimeViews::add(std::size_t run, bool both) {
  for (const View view : {References::plain, References::copy, References::arithmetic}) {
    watches_[view].add(value(run, both, view));
    measured_[view].push_back(references_.has(view, run));
  }
  if (++nights_ % kChooseEvery == 0) choose();
}

void TimeViews::begin_level(std::size_t nights) {
  for (ChangePointDetector& watch : watches_) watch.begin_level(nights);
}

void TimeViews::return_to_former_level(std::size_t nights) {
  for (ChangePointDetector& watch : watches_) watch.return_to_former_level(nights);
}

void TimeViews::choose() {
  if (watches_[References::plain].nights() < options_.watch.least_nights) return;  // a young level: as before
  double least = options_.quieter * noise_of_a_week(watches_[References::plain]);
  chosen_ = References::plain;
  for (const View view : {References::copy, References::arithmetic}) {
    const std::vector<bool>& measured = measured_[view];
    const std::size_t looked_at = std::min(measured.size(), options_.watch.baseline_nights);
    const auto covered =
        std::count(measured.end() - static_cast<std::ptrdiff_t>(looked_at), measured.end(), true);
    if (static_cast<double>(covered) < kCovered * static_cast<double>(looked_at)) continue;
    if (const double noise = noise_of_a_week(watches_[view]); noise < least) {
      least = noise;
      chosen_ = view;
    }
  }
}

}  // namespace peakmark::trend
