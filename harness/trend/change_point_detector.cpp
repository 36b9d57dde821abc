#include "trend/change_point_detector.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace peakmark::trend {
namespace {

/// Lengths of a new level that are tried. A drift is found by the long ones.
constexpr std::array<std::size_t, 15> kWindows{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 21, 25, 28};
constexpr double kWindowClip = 3.1;  ///< spreads: one night off the chart is no level
constexpr double kMinClip = 0.03;
/// A level so near that came and went may come again: a state of the machine, and part of its noise.
constexpr double kNear = 6;  ///< spreads
/// So many nights that lie farther off, all on one side, are a level: they count for as much as they agree
/// on.
constexpr std::size_t kTogether = 3;
constexpr double kApart = 4;  ///< spreads, between two measurements of a night
/// Of the rank statistic, in its own standard deviations; and, since few nights cannot reach that, the part
/// of what complete separation gives.
constexpr double kMinRank = 2.5;
constexpr double kMinRankPart = 0.98;
/// Nights that the noise of a former level counts for.
constexpr double kFormerWeight = 20;
constexpr std::size_t kFormerNeeded = 30;
constexpr std::size_t kMinOfNewLevel = 3;

double tabled_variance_of_mean(std::size_t count, double persistence) {
  constexpr std::size_t kSteps = 20;
  constexpr std::size_t kMost = 256;
  static const auto table = [] {
    std::array<std::array<double, kMost + 1>, kSteps> made{};
    for (std::size_t step = 0; step < kSteps; ++step) {
      for (std::size_t nights = 1; nights <= kMost; ++nights) {
        made[step][nights] = variance_of_mean(static_cast<int>(nights), static_cast<double>(step) / kSteps);
      }
    }
    return made;
  }();
  const auto step = static_cast<std::size_t>(std::lround(persistence * kSteps));
  return table[std::min(step, kSteps - 1)][std::min(count, kMost)];
}

/// The z that is as unlikely as this t of so many degrees of freedom. Wallace (1959), as Bailey (1980) has
/// it.
double normal_equivalent(double t, double freedom) {
  const double factor = (8 * freedom + 1) / (8 * freedom + 3);
  return std::copysign(factor * std::sqrt(freedom * std::log1p(t * t / freedom)), t);
}

/// Whether the last nights outrank those before (or are outranked, for a negative sign).
bool ranks_agree(std::span<const double> before, std::span<const double> last, double tonight, double sign) {
  double wins = 0;
  const auto count = [&](double value) {
    for (const double one : before) wins += value > one ? 1 : value == one ? 0.5 : 0;
  };
  for (const double value : last) count(value);
  count(tonight);
  const auto n = static_cast<double>(before.size());
  const auto k = static_cast<double>(last.size() + 1);
  const double rank = sign * (wins - n * k / 2) / std::sqrt(n * k * (n + k + 1) / 12);
  const double most = std::sqrt(3 * n * k / (n + k + 1));
  return rank >= std::min(kMinRank, kMinRankPart * most);
}

/// How far off all of these are, in spreads; 0 where they are not on one side.
double least_distance(std::span<const double> last, double tonight, const Noise& noise) {
  double least = tonight - noise.centre;
  for (const double value : last) {
    const double distance = value - noise.centre;
    if (distance * least <= 0) return 0;
    if (std::abs(distance) < std::abs(least)) least = distance;
  }
  return std::abs(least) / noise.spread;
}

double median_with(std::span<const double> values, double another) {
  std::vector<double> all(values.begin(), values.end());
  all.push_back(another);
  return median_in_place(all);
}

}  // namespace

std::span<const double> ChangePointDetector::baseline() const {
  const std::size_t count = std::min(values_.size(), options_.baseline_nights);
  return std::span(values_).last(count);
}

Noise ChangePointDetector::blended(Noise noise, std::size_t nights) const {
  if (!former_ || nights >= kFormerNeeded) return noise;
  const auto n = static_cast<double>(nights);
  const double all = n + kFormerWeight;
  const double spread =
      std::sqrt((kFormerWeight * former_->spread * former_->spread + n * noise.spread * noise.spread) / all);
  const double persistence = (kFormerWeight * former_->persistence + n * noise.persistence) / all;
  // A few nights may all be of one state of the machine, and look quieter than the next ones will be.
  noise.spread = std::max(spread, former_->spread);
  noise.persistence = std::max(persistence, former_->persistence);
  return noise;
}

std::optional<Noise> ChangePointDetector::noise() const {
  const std::span<const double> nights = baseline();
  if (nights.size() < kMinOfNewLevel) return former_;
  scratch_.resize(nights.size());
  return blended(estimate_noise(nights, scratch_), nights.size());
}

double ChangePointDetector::settle(double first, double again) const {
  const std::optional<Noise> noise = this->noise();
  if (!noise || std::abs(first - again) <= kApart * noise->spread) return (first + again) / 2;
  return std::abs(first - noise->centre) < std::abs(again - noise->centre) ? first : again;
}

Look ChangePointDetector::look(double value) const {
  Look look;
  const std::span<const double> nights = baseline();
  const std::size_t count = nights.size();
  if (count < (former_ ? kMinOfNewLevel : options_.least_nights)) return look;
  look.enough = true;
  const Noise noise = *this->noise();
  const double freedom =
      static_cast<double>(count) - 1 + (former_ && count < kFormerNeeded ? kFormerWeight : 0);

  scratch_.resize(count + 1);
  const std::span<double> sums = scratch_;  // of the first nights of the baseline, clipped
  sums[0] = 0;
  const auto clipped = [&](double one, double clip) {
    return std::clamp(one, noise.centre - clip * noise.spread, noise.centre + clip * noise.spread);
  };
  for (std::size_t i = 0; i < count; ++i) sums[i + 1] = sums[i] + clipped(nights[i], kClip);

  const std::size_t least_before = former_ ? kMinOfNewLevel : options_.least_nights / 2;
  // Whether a step is large enough is asked of values that quiet noise does not clip to nothing.
  const double loose = std::max(kWindowClip, kMinClip / noise.spread);
  const double far = least_distance(nights.last(kTogether - 1), value, noise);
  const double wide = far > kNear ? far : kWindowClip;
  double sum = clipped(value, kWindowClip);
  double wide_sum = clipped(value, wide);
  double loose_sum = clipped(value, loose);
  std::size_t summed = 1;
  for (const std::size_t window : kWindows) {
    if (window + least_before > count + 1 || window - 1 > since_return_) break;
    for (; summed < window; ++summed) {
      sum += clipped(nights[count - summed], kWindowClip);
      wide_sum += clipped(nights[count - summed], wide);
      loose_sum += clipped(nights[count - summed], loose);
    }
    const std::size_t before = count + 1 - window;
    const double level = sums[before] / static_cast<double>(before);
    const auto length = static_cast<double>(window);
    if (std::abs(loose_sum / length - level) < std::log1p(options_.least_effect)) continue;
    const double effect = (window < kTogether ? sum : wide_sum) / length - level;
    const double variance = tabled_variance_of_mean(window, noise.persistence) +
                            tabled_variance_of_mean(before, noise.persistence);
    const double score = normal_equivalent(effect / (noise.spread * std::sqrt(variance)), freedom);
    if (std::abs(score) > std::abs(look.suspicion)) look.suspicion = score;
    const bool may_be_told = window > 1 && std::abs(score) > std::abs(look.score) &&
                             std::abs(score) >= std::min(options_.slower, options_.faster);
    if (!may_be_told) continue;
    if (!ranks_agree(nights.first(before), nights.last(window - 1), value, std::copysign(1.0, score)))
      continue;
    look.score = score;
    look.nights = window;
    look.before = level;
  }
  if (look.nights > 0) look.effect = median_with(nights.last(look.nights - 1), value) - look.before;
  return look;
}

void ChangePointDetector::begin_level(std::size_t nights) {
  const std::size_t last = std::min(nights, values_.size());
  std::vector<double> level(values_.end() - static_cast<std::ptrdiff_t>(last), values_.end());
  values_.resize(values_.size() - last);
  if (values_.size() >= kMinOfNewLevel) former_ = noise();
  former_values_ = std::exchange(values_, std::move(level));
  since_return_ = kAll;
}

void ChangePointDetector::return_to_former_level(std::size_t nights) {
  std::size_t kept = std::min(nights, values_.size());
  const bool is_short = values_.size() - kept <= kWindows.back();
  if (former_ && !former_values_.empty() && kept < values_.size() && is_short) {
    const double away =
        median_with(std::span(values_).first(values_.size() - kept - 1), values_[values_.size() - kept - 1]) -
        former_->centre;
    if (std::abs(away) < kNear * former_->spread) kept = values_.size();
  }
  former_values_.insert(former_values_.end(), values_.end() - static_cast<std::ptrdiff_t>(kept),
                        values_.end());
  values_ = std::exchange(former_values_, {});
  since_return_ = nights;
}

double ChangePointDetector::level_before(std::size_t nights) const {
  const std::span<const double> all = baseline();
  if (nights >= all.size()) return all.empty() ? 0 : all.back();
  std::vector<double> before(all.begin(), all.end() - static_cast<std::ptrdiff_t>(nights));
  return median_in_place(before);
}

double ChangePointDetector::step(std::size_t nights) const {
  const std::span<const double> all = baseline();
  if (nights == 0 || nights >= all.size()) return 0;
  std::vector<double> last(all.end() - static_cast<std::ptrdiff_t>(nights), all.end());
  return median_in_place(last) - level_before(nights);
}

}  // namespace peakmark::trend
