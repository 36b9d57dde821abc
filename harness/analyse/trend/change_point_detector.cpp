#include "analyse/trend/change_point_detector.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace peakmark::trend {

namespace {

constexpr double kMadToDeviation = 1.4826;  ///< 1 / Φ⁻¹(3/4)

constexpr double kMaxPersistence = 0.95;
constexpr double kCaution = 0.4;  ///< standard errors of the correlation

/// Variance of a standard normal clipped at ±c: 1 − 2 c φ(c) − 2 (1 − c²) (1 − Φ(c)).
double variance_of_clipped_normal(double c) {
  const double density = std::exp(-c * c / 2) / std::sqrt(2 * M_PI);
  const double tail = std::erfc(c / M_SQRT2) / 2;
  return 1 - 2 * c * density - 2 * (1 - c * c) * tail;
}

}  // namespace

double median_in_place(std::span<double> values) {
  const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
  const auto middle = values.begin() + half;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

namespace {

/// Returns the distance from `centre` within which the nearest `rank` + 1 of the sorted values lie. They are
/// consecutive: finds where they begin.
double nearest_distance(std::span<const double> sorted, double centre, std::size_t rank) {
  const auto below = [&](std::size_t first) { return centre - sorted[first]; };
  const auto above = [&](std::size_t first) { return sorted[first + rank] - centre; };
  std::size_t first = 0;
  std::size_t end = sorted.size() - rank - 1;
  while (first < end) {
    const std::size_t middle = (first + end) / 2;
    if (above(middle) >= below(middle)) {
      end = middle;
    } else {
      first = middle + 1;
    }
  }
  const double distance = std::max(above(first), below(first));
  return first == 0 ? distance : std::min(distance, std::max(above(first - 1), below(first - 1)));
}

double median_of_sorted(std::span<const double> sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half] + sorted[half - 1]) / 2;
}

double median_distance(std::span<const double> sorted, double centre) {
  const std::size_t half = sorted.size() / 2;
  const double distance = nearest_distance(sorted, centre, half);
  return sorted.size() % 2 == 1 ? distance : (distance + nearest_distance(sorted, centre, half - 1)) / 2;
}

/// With fewer runs than this, deciles mean little: two states of the machine are not looked for.
constexpr std::size_t kMinRunsOfStates = 20;
/// The first decile, as a fraction.
constexpr double kDecile = 0.1;
/// Distance between the first and the last decile of a standard normal: 2 Φ⁻¹(0.9).
constexpr double kDecilesOfNormal = 2.5631;
/// Two states are assumed if clipping by the deciles instead of the median distance increases the spread by
/// this factor.
constexpr double kMinOfStates = 1.2;
/// Values alternate if they change sides at least this often, relative to independent values.
constexpr double kMinAlternation = 0.5;

double quantile_of_sorted(std::span<const double> sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const double high = sorted[std::min(low + 1, sorted.size() - 1)];
  return sorted[low] + (at - static_cast<double>(low)) * (high - sorted[low]);
}

/// Returns true if neighbours are on different sides of `middle` about as often as for independent values,
/// with a values above and b below: 2 a b / n times (Wald and Wolfowitz).
bool alternates(std::span<const double> values, double middle) {
  std::size_t above = 0;
  std::size_t changes = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_above = values[i] > middle;
    if (is_above) ++above;
    if (i > 0 && is_above != (values[i - 1] > middle)) ++changes;
  }
  const auto count = static_cast<double>(values.size());
  const auto high = static_cast<double>(above);
  return static_cast<double>(changes) > kMinAlternation * 2 * high * (count - high) / count;
}

/// Sets spread and persistence of the values, clipped to the centre ± `bound`.
void estimate_clipped(std::span<const double> values, double bound, std::span<double> work, Noise& noise) {
  static const double consistency = 1 / variance_of_clipped_normal(kClip);
  const std::size_t count = values.size();
  double mean = 0;
  for (std::size_t i = 0; i < count; ++i) {
    work[i] = std::clamp(values[i] - noise.centre, -bound, bound);
    mean += work[i];
  }
  mean /= static_cast<double>(count);
  double squares = 0;
  double neighbours = 0;
  for (std::size_t i = 0; i < count; ++i) {
    work[i] -= mean;
    squares += work[i] * work[i];
    if (i > 0) neighbours += work[i] * work[i - 1];
  }
  const double variance = consistency * squares / static_cast<double>(count - 1);
  noise.spread = std::max(std::sqrt(variance), kMinSpread);
  if (squares > 0) {
    const double cautious = neighbours / squares + kCaution / std::sqrt(static_cast<double>(count));
    noise.persistence = std::clamp(cautious, 0.0, kMaxPersistence);
  }
}

}  // namespace

Noise estimate_noise(std::span<const double> values, std::span<double> scratch, States states) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return estimate_noise(values, sorted, scratch, states);
}

Noise estimate_noise(std::span<const double> values, std::span<const double> sorted,
                     std::span<double> scratch, States states) {
  const std::span<double> work = scratch.first(values.size());
  Noise noise;
  noise.centre = median_of_sorted(sorted);
  const double deviation = std::max(kMadToDeviation * median_distance(sorted, noise.centre), kMinSpread);
  estimate_clipped(values, kClip * deviation, work, noise);
  if (states == States::ignored || values.size() < kMinRunsOfStates) return noise;
  const double low = quantile_of_sorted(sorted, kDecile);
  const double high = quantile_of_sorted(sorted, 1 - kDecile);
  const double wide = (high - low) / kDecilesOfNormal;
  if (wide <= deviation) return noise;
  Noise with_states = noise;
  estimate_clipped(values, kClip * wide, work, with_states);
  const bool has_states =
      with_states.spread > kMinOfStates * noise.spread && alternates(values, (low + high) / 2);
  return has_states ? with_states : noise;
}

double variance_of_mean(int count, double persistence) {
  double sum = 1;
  double power = 1;
  for (int lag = 1; lag < count; ++lag) {
    power *= persistence;
    sum += 2 * (1 - static_cast<double>(lag) / count) * power;
  }
  return sum / count;
}

namespace {

/// The lengths of a new level that are tried, in runs. Long ones find drifts.
constexpr std::array<std::size_t, 15> kWindows{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 21, 25, 28};
constexpr double kWindowClip = 3.1;  ///< spreads: one extreme run is not a level
constexpr double kMinClip = 0.03;
/// A temporary level this near is a state of the machine that may come again, so it counts as noise.
constexpr double kNear = 6;  ///< spreads
/// This many runs that are farther off, all on one side, are a level: they are clipped only at their smallest
/// distance.
constexpr std::size_t kTogether = 3;
constexpr double kApart = 4;  ///< spreads, between two measurements of a run
/// Minimum of the rank statistic, in its standard deviations. Few runs cannot reach it; for them kMinRankPart
/// of the statistic at complete separation is enough.
constexpr double kMinRank = 2.5;
constexpr double kMinRankPart = 0.98;
/// Weight, in runs, of the noise of the former level.
constexpr double kFormerWeight = 20;
constexpr std::size_t kFormerNeeded = 30;
constexpr std::size_t kMinOfNewLevel = 3;

double tabled_variance_of_mean(std::size_t count, double persistence) {
  constexpr std::size_t kSteps = 20;
  constexpr std::size_t kMaxRuns = 256;
  static const auto table = [] {
    std::array<std::array<double, kMaxRuns + 1>, kSteps> made{};
    for (std::size_t step = 0; step < kSteps; ++step) {
      for (std::size_t runs = 1; runs <= kMaxRuns; ++runs) {
        made[step][runs] = variance_of_mean(static_cast<int>(runs), static_cast<double>(step) / kSteps);
      }
    }
    return made;
  }();
  const auto step = static_cast<std::size_t>(std::lround(persistence * kSteps));
  return table[std::min(step, kSteps - 1)][std::min(count, kMaxRuns)];
}

/// Returns the z that is as unlikely as `t` with `freedom` degrees of freedom: Wallace (1959), in the form of
/// Bailey (1980).
double normal_equivalent(double t, double freedom) {
  const double factor = (8 * freedom + 1) / (8 * freedom + 3);
  return std::copysign(factor * std::sqrt(freedom * std::log1p(t * t / freedom)), t);
}

/// Returns a bound of t: every smaller t ≥ 0 has a normal equivalent below `z`.
double min_t_for(double z, double freedom) {
  constexpr double kRounding = 1 - 1e-9;
  const double factor = (8 * freedom + 1) / (8 * freedom + 3);
  return kRounding * std::sqrt(freedom * std::expm1(z * z / (factor * factor * freedom)));
}

/// Returns true if the last runs rank above those before them, or below for a negative sign.
bool ranks_agree(std::span<const double> before, std::span<const double> last, double newest, double sign) {
  double wins = 0;
  const auto count = [&](double value) {
    for (const double one : before) wins += value > one ? 1 : value == one ? 0.5 : 0;
  };
  for (const double value : last) count(value);
  count(newest);
  const auto n = static_cast<double>(before.size());
  const auto k = static_cast<double>(last.size() + 1);
  const double rank = sign * (wins - n * k / 2) / std::sqrt(n * k * (n + k + 1) / 12);
  const double most = std::sqrt(3 * n * k / (n + k + 1));
  return rank >= std::min(kMinRank, kMinRankPart * most);
}

/// Returns the smallest distance from the centre, in spreads; 0 if the values are not all on one side.
double min_distance(std::span<const double> last, double newest, const Noise& noise) {
  double least = newest - noise.centre;
  for (const double value : last) {
    const double distance = value - noise.centre;
    if (distance * least <= 0) return 0;
    if (std::abs(distance) < std::abs(least)) least = distance;
  }
  return std::abs(least) / noise.spread;
}

/// Returns memory for `count` values, valid until the next call in this thread. All series share it, because
/// thousands of buffers would not stay in the caches.
std::span<double> scratch(std::size_t count) {
  static thread_local std::vector<double> values;
  if (values.size() < count) values.resize(count);
  return std::span(values).first(count);
}

double median_with(std::span<const double> values, double another) {
  std::vector<double> all(values.begin(), values.end());
  all.push_back(another);
  return median_in_place(all);
}

}  // namespace

std::span<const double> ChangePointDetector::baseline() const {
  const std::size_t count = std::min(values_.size(), options_.baseline_runs);
  return std::span(values_).last(count);
}

Noise ChangePointDetector::blended(Noise noise, std::size_t runs) const {
  if (!former_ || runs >= kFormerNeeded) return noise;
  const auto n = static_cast<double>(runs);
  const double all = n + kFormerWeight;
  const double spread =
      std::sqrt((kFormerWeight * former_->spread * former_->spread + n * noise.spread * noise.spread) / all);
  const double persistence = (kFormerWeight * former_->persistence + n * noise.persistence) / all;
  // A few runs may share a state of the machine, and then have less noise than later ones.
  noise.spread = std::max(spread, former_->spread);
  noise.persistence = std::max(persistence, former_->persistence);
  return noise;
}

std::optional<Noise> ChangePointDetector::noise() const {
  if (noise_) return noise_;
  const std::span<const double> values = baseline();
  if (values.size() < kMinOfNewLevel) return former_;
  noise_ = blended(estimate_noise(values, sorted_, scratch(values.size())), values.size());
  return noise_;
}

void ChangePointDetector::add(double value) {
  const std::size_t max_values = options_.baseline_runs + 3 * kWindows.back();
  if (values_.size() >= options_.baseline_runs) {
    const double oldest = values_[values_.size() - options_.baseline_runs];
    sorted_.erase(std::ranges::lower_bound(sorted_, oldest));
  }
  sorted_.insert(std::ranges::upper_bound(sorted_, value), value);
  if (values_.size() == 2 * max_values)
    values_.erase(values_.begin(), values_.end() - static_cast<std::ptrdiff_t>(max_values));
  values_.push_back(value);
  if (since_return_ != kAll) ++since_return_;
  noise_.reset();
}

void ChangePointDetector::sort_baseline() {
  const std::span<const double> values = baseline();
  sorted_.assign(values.begin(), values.end());
  std::ranges::sort(sorted_);
  noise_.reset();
}

double ChangePointDetector::settle(double first, double again) const {
  const std::optional<Noise> noise = this->noise();
  if (!noise || std::abs(first - again) <= kApart * noise->spread) return (first + again) / 2;
  return std::abs(first - noise->centre) < std::abs(again - noise->centre) ? first : again;
}

Scan ChangePointDetector::scan(double value) const {
  Scan found;
  const std::span<const double> values = baseline();
  const std::size_t count = values.size();
  if (count < (former_ ? kMinOfNewLevel : options_.min_runs)) return found;
  found.enough = true;
  const Noise noise = *this->noise();
  const double freedom =
      static_cast<double>(count) - 1 + (former_ && count < kFormerNeeded ? kFormerWeight : 0);

  const std::span<double> sums =
      scratch(count + 1);  // sums[i]: of the first i values of the baseline, clipped
  sums[0] = 0;
  const auto clipped = [&](double one, double clip) {
    return std::clamp(one, noise.centre - clip * noise.spread, noise.centre + clip * noise.spread);
  };
  for (std::size_t i = 0; i < count; ++i) sums[i + 1] = sums[i] + clipped(values[i], kClip);

  const std::size_t min_before = former_ ? kMinOfNewLevel : options_.min_runs / 2;
  // If noise is small, values are clipped less for the size of a step, which would otherwise be cut off.
  const double loose = std::max(kWindowClip, kMinClip / noise.spread);
  const double far = min_distance(values.last(kTogether - 1), value, noise);
  const double wide = far > kNear ? far : kWindowClip;
  const double min_step = std::log1p(options_.min_effect);
  const double min_score = std::min(options_.slower, options_.faster);
  const double min_t = min_t_for(min_score, freedom);
  double max_t = 0;
  double sum = clipped(value, kWindowClip);
  double wide_sum = clipped(value, wide);
  double loose_sum = clipped(value, loose);
  std::size_t summed = 1;
  for (const std::size_t window : kWindows) {
    if (window + min_before > count + 1 || window - 1 > since_return_) break;
    for (; summed < window; ++summed) {
      sum += clipped(values[count - summed], kWindowClip);
      wide_sum += clipped(values[count - summed], wide);
      loose_sum += clipped(values[count - summed], loose);
    }
    const std::size_t before = count + 1 - window;
    const double level = sums[before] / static_cast<double>(before);
    const auto length = static_cast<double>(window);
    if (std::abs(loose_sum / length - level) < min_step) continue;
    const double effect = (window < kTogether ? sum : wide_sum) / length - level;
    const double variance = tabled_variance_of_mean(window, noise.persistence) +
                            tabled_variance_of_mean(before, noise.persistence);
    const double t = effect / (noise.spread * std::sqrt(variance));
    if (std::abs(t) <= max_t && std::abs(t) < min_t) continue;  // cannot change suspicion or score
    max_t = std::max(max_t, std::abs(t));
    const double score = normal_equivalent(t, freedom);
    if (std::abs(score) > std::abs(found.suspicion)) found.suspicion = score;
    const bool may_be_change =
        window > 1 && std::abs(score) > std::abs(found.score) && std::abs(score) >= min_score;
    if (!may_be_change) continue;
    if (!ranks_agree(values.first(before), values.last(window - 1), value, std::copysign(1.0, score)))
      continue;
    found.score = score;
    found.runs = window;
    found.before = level;
  }
  if (found.runs > 0) found.effect = median_with(values.last(found.runs - 1), value) - found.before;
  return found;
}

void ChangePointDetector::begin_level(std::size_t runs) {
  const std::size_t last = std::min(runs, values_.size());
  std::vector<double> level(values_.end() - static_cast<std::ptrdiff_t>(last), values_.end());
  values_.resize(values_.size() - last);
  sort_baseline();
  if (values_.size() >= kMinOfNewLevel) former_ = noise();
  former_values_ = std::exchange(values_, std::move(level));
  since_return_ = kAll;
  sort_baseline();
}

void ChangePointDetector::return_to_former_level(std::size_t runs) {
  std::size_t kept = std::min(runs, values_.size());
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
  since_return_ = runs;
  sort_baseline();
}

double ChangePointDetector::level_before(std::size_t runs) const {
  const std::span<const double> all = baseline();
  if (runs >= all.size()) return all.empty() ? 0 : all.back();
  std::vector<double> before(all.begin(), all.end() - static_cast<std::ptrdiff_t>(runs));
  return median_in_place(before);
}

double ChangePointDetector::step(std::size_t runs) const {
  const std::span<const double> all = baseline();
  if (runs == 0 || runs >= all.size()) return 0;
  std::vector<double> last(all.end() - static_cast<std::ptrdiff_t>(runs), all.end());
  return median_in_place(last) - level_before(runs);
}

}  // namespace peakmark::trend
