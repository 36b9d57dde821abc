// Compares the detector, which keeps sorted values and skips windows that cannot count, with a plain
// implementation of its definition, which computes everything anew for each run.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "analyse/trend/change_point_detector.hpp"

namespace peakmark::trend {
namespace {

using Values = std::vector<double>;

double plain_median(Values values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half] + values[half - 1]) / 2;
}

Values last(const Values& values, std::size_t count) {
  return {values.end() - static_cast<std::ptrdiff_t>(std::min(count, values.size())), values.end()};
}

Values first(const Values& values, std::size_t count) {
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

double clip(double value, const Noise& noise, double spreads) {
  return std::clamp(value, noise.centre - spreads * noise.spread, noise.centre + spreads * noise.spread);
}

/// numpy.quantile(): between two values, linear.
double plain_quantile(Values values, double part) {
  std::ranges::sort(values);
  const double place = part * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(place));
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (place - std::floor(place)) * (values[high] - values[low]);
}

/// The noise of values that are clipped at `kClip` times this deviation.
Noise plain_clipped_noise(const Values& values, double deviation) {
  Noise noise;
  noise.centre = plain_median(values);
  Values clipped;
  double mean = 0;
  for (const double value : values) {
    clipped.push_back(std::clamp(value - noise.centre, -kClip * deviation, kClip * deviation));
    mean += clipped.back();
  }
  const auto count = static_cast<double>(values.size());
  mean /= count;
  double squares = 0;
  double neighbours = 0;
  for (std::size_t i = 0; i < clipped.size(); ++i) {
    clipped[i] -= mean;
    squares += clipped[i] * clipped[i];
    if (i > 0) neighbours += clipped[i] * clipped[i - 1];
  }
  // The variance of a standard normal that is clipped at ±c.
  const double density = std::exp(-kClip * kClip / 2) / std::sqrt(2 * M_PI);
  const double variance = 1 - 2 * kClip * density - (1 - kClip * kClip) * std::erfc(kClip / M_SQRT2);
  noise.spread = std::max(std::sqrt(squares / (count - 1) / variance), kMinSpread);
  if (squares > 0) noise.persistence = std::clamp(neighbours / squares + 0.4 / std::sqrt(count), 0.0, 0.95);
  return noise;
}

Noise plain_noise(const Values& values) {
  const double centre = plain_median(values);
  Values distances;
  for (const double value : values) distances.push_back(std::abs(value - centre));
  const double deviation = std::max(1.4826 * plain_median(distances), kMinSpread);
  Noise noise = plain_clipped_noise(values, deviation);
  const double low = plain_quantile(values, 0.1);
  const double high = plain_quantile(values, 0.9);
  const double between_deciles = (high - low) / 2.5631;
  if (between_deciles <= deviation || values.size() < 20) return noise;
  const Noise of_states = plain_clipped_noise(values, between_deciles);
  double above = 0;
  double changes = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    above += values[i] > (low + high) / 2 ? 1 : 0;
    if (i > 0) changes += (values[i] > (low + high) / 2) != (values[i - 1] > (low + high) / 2) ? 1 : 0;
  }
  const auto count = static_cast<double>(values.size());
  const bool alternates = changes > above * (count - above) / count;
  return of_states.spread > 1.2 * noise.spread && alternates ? of_states : noise;
}

/// The definition in docs/statistics.md, "Trends". Uses all values of a level, and keeps no state except
/// levels.
class PlainDetector {
 public:
  void add(double value) {
    values_.push_back(value);
    if (since_return_) ++*since_return_;
  }

  std::optional<Noise> noise() const {
    const Values values = baseline();
    if (values.size() < 3) return former_;
    Noise noise = plain_noise(values);
    if (!former_ || values.size() >= 30) return noise;
    const auto n = static_cast<double>(values.size());
    const double spread =
        std::sqrt((20 * former_->spread * former_->spread + n * noise.spread * noise.spread) / (n + 20));
    const double persistence = (20 * former_->persistence + n * noise.persistence) / (n + 20);
    noise.spread = std::max(spread, former_->spread);
    noise.persistence = std::max(persistence, former_->persistence);
    return noise;
  }

  Scan scan(double value) const {
    Scan found;
    const Values before_value = baseline();
    const std::size_t count = before_value.size();
    if (count < (former_ ? 3U : options_.min_runs)) return found;
    found.enough = true;
    const Noise noise = *this->noise();
    const double freedom = static_cast<double>(count) - 1 + (former_ && count < 30 ? 20 : 0);
    Values all = before_value;
    all.push_back(value);
    for (const std::size_t window : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 10U, 12U, 14U, 17U, 21U, 25U, 28U}) {
      if (window + (former_ ? 3 : options_.min_runs / 2) > all.size()) break;
      if (since_return_ && window - 1 > *since_return_) break;
      const Values newer = last(all, window);
      const Values older = first(all, all.size() - window);
      double level = 0;
      for (const double one : older) level += clip(one, noise, kClip);
      level /= static_cast<double>(older.size());
      if (std::abs(clipped_mean(newer, noise, std::max(3.1, 0.03 / noise.spread)) - level) <
          std::log1p(options_.min_effect))
        continue;
      const double far = distance_of_last_three(all, noise);
      const double effect = clipped_mean(newer, noise, window >= 3 && far > 6 ? far : 3.1) - level;
      const double variance = mean_variance(window, noise) + mean_variance(older.size(), noise);
      const double score = z_of_t(effect / (noise.spread * std::sqrt(variance)), freedom);
      if (std::abs(score) > std::abs(found.suspicion)) found.suspicion = score;
      if (window == 1 || std::abs(score) <= std::abs(found.score) || std::abs(score) < options_.slower)
        continue;
      if (!outranks(newer, older, score > 0)) continue;
      found.score = score;
      found.runs = window;
      found.before = level;
      found.effect = plain_median(newer) - level;
    }
    return found;
  }

  void begin_level(std::size_t runs) {
    Values level = last(values_, runs);
    values_.resize(values_.size() - level.size());
    if (values_.size() >= 3) former_ = noise();
    former_values_ = std::exchange(values_, std::move(level));
    since_return_.reset();
  }

  void return_to_former_level(std::size_t runs) {
    const std::size_t between = values_.size() - std::min(runs, values_.size());
    bool keeps_all = former_ && !former_values_.empty() && between > 0 && between <= 28;
    if (keeps_all)
      keeps_all = std::abs(plain_median(first(values_, between)) - former_->centre) < 6 * former_->spread;
    const Values kept = keeps_all ? values_ : last(values_, runs);
    former_values_.insert(former_values_.end(), kept.begin(), kept.end());
    values_ = std::exchange(former_values_, {});
    since_return_ = runs;
  }

 private:
  Values baseline() const { return last(values_, options_.baseline_runs); }

  static double clipped_mean(const Values& values, const Noise& noise, double spreads) {
    double sum = 0;
    for (const double value : values) sum += clip(value, noise, spreads);
    return sum / static_cast<double>(values.size());
  }

  /// The detector's table has correlations in steps of 0.05.
  static double mean_variance(std::size_t count, const Noise& noise) {
    const double step = std::min(19.0, std::round(noise.persistence * 20));
    return variance_of_mean(static_cast<int>(count), step / 20);
  }

  static double z_of_t(double t, double freedom) {
    const double z = (8 * freedom + 1) / (8 * freedom + 3) * std::sqrt(freedom * std::log1p(t * t / freedom));
    return t < 0 ? -z : z;
  }

  static double distance_of_last_three(const Values& all, const Noise& noise) {
    const Values three = last(all, 3);
    double smallest = HUGE_VAL;
    for (const double value : three) {
      if ((value - noise.centre) * (three.back() - noise.centre) <= 0) return 0;
      smallest = std::min(smallest, std::abs(value - noise.centre));
    }
    return smallest / noise.spread;
  }

  static bool outranks(const Values& newer, const Values& older, bool is_slower) {
    double wins = 0;
    for (const double one : newer) {
      for (const double other : older) wins += one > other ? 1 : one == other ? 0.5 : 0;
    }
    const auto n = static_cast<double>(older.size());
    const auto k = static_cast<double>(newer.size());
    const double rank = (is_slower ? 1 : -1) * (wins - n * k / 2) / std::sqrt(n * k * (n + k + 1) / 12);
    return rank >= std::min(2.5, 0.98 * std::sqrt(3 * n * k / (n + k + 1)));
  }

  DetectorOptions options_;
  Values values_;
  Values former_values_;
  std::optional<Noise> former_;
  std::optional<std::size_t> since_return_;
};

void expect_same(const Scan& scan, const Scan& plain) {
  constexpr double kRounding = 1e-10;
  EXPECT_EQ(scan.enough, plain.enough);
  EXPECT_EQ(scan.runs, plain.runs);
  EXPECT_NEAR(scan.suspicion, plain.suspicion, kRounding);
  EXPECT_NEAR(scan.score, plain.score, kRounding);
  EXPECT_NEAR(scan.effect, plain.effect, kRounding);
  EXPECT_NEAR(scan.before, plain.before, kRounding);
}

/// What happened in a series.
struct Counts {
  int levels = 0;
  int returns = 0;
  int suspicions = 0;
};

/// Replays a series with random noise, ties, outliers, steps and drifts, as the replay of trends does.
Counts compare_series(unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const double noise = 0.0005 * std::exp(4.5 * uniform(random));
  const double persistence = seed % 3 == 0 ? 0.7 : 0;
  const double rounding = seed % 4 == 0 ? 0.002 : 0;
  double level = 7;
  double state = 0;
  Counts counts;
  ChangePointDetector detector{DetectorOptions{}};
  PlainDetector plain;
  for (int run = 0; run < 700; ++run) {
    if (uniform(random) < 0.01) level += uniform(random) < 0.5 ? 0.06 : -0.06;
    if (seed % 5 == 0 && run > 300) level += 0.0005;
    state = persistence * state + noise * normal(random);
    double value = level + state + (uniform(random) < 0.02 ? 0.4 * uniform(random) : 0);
    if (seed % 7 == 0 && uniform(random) < 0.4) value += 0.2;  // two states
    if (rounding > 0) value = rounding * std::round(value / rounding);
    const Scan scan = detector.scan(value);
    expect_same(scan, plain.scan(value));
    detector.add(value);
    plain.add(value);
    if (std::abs(scan.suspicion) >= 2.6) ++counts.suspicions;
    if (std::abs(scan.score) < 3.5) continue;
    if (scan.score < 0 && run % 2 == 0) {
      detector.return_to_former_level(scan.runs);
      plain.return_to_former_level(scan.runs);
      ++counts.returns;
    } else {
      detector.begin_level(scan.runs);
      plain.begin_level(scan.runs);
      ++counts.levels;
    }
    EXPECT_EQ(detector.noise().has_value(), plain.noise().has_value());
    if (testing::Test::HasFailure()) break;
  }
  return counts;
}

TEST(Detector, ScoresAreThoseOfItsDefinition) {
  Counts all;
  for (unsigned seed = 1; seed <= 24; ++seed) {
    const Counts counts = compare_series(seed);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    all.levels += counts.levels;
    all.returns += counts.returns;
    all.suspicions += counts.suspicions;
  }
  // The series are worth comparing.
  EXPECT_GT(all.levels, 50);
  EXPECT_GT(all.returns, 15);
  EXPECT_GT(all.suspicions, 400);
}

TEST(Detector, NoiseIsThatOfItsDefinition) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(3, 0.01);
  for (std::size_t count = 3; count < 130; ++count) {
    Values values(count);
    for (double& value : values)
      value = count % 3 == 0 ? std::round(100 * normal(random)) / 100 : normal(random);
    for (double& value : values) value += count % 2 == 0 && normal(random) > 3 ? 0.3 : 0;
    Values scratch(count);
    const Noise noise = estimate_noise(values, scratch, States::covered);
    const Noise plain = plain_noise(values);
    EXPECT_EQ(noise.centre, plain.centre) << count;
    EXPECT_DOUBLE_EQ(noise.spread, plain.spread) << count;
    EXPECT_DOUBLE_EQ(noise.persistence, plain.persistence) << count;
  }
}

}  // namespace
}  // namespace peakmark::trend
