#include "trend/noise.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

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

Noise estimate_noise(std::span<const double> values, std::span<double> scratch) {
  static const double consistency = 1 / variance_of_clipped_normal(kClip);
  const std::size_t count = values.size();
  const std::span<double> work = scratch.first(count);
  std::copy(values.begin(), values.end(), work.begin());
  Noise noise;
  noise.centre = median_in_place(work);
  for (std::size_t i = 0; i < count; ++i) work[i] = std::abs(values[i] - noise.centre);
  const double deviation = std::max(kMadToDeviation * median_in_place(work), kMinSpread);

  const double bound = kClip * deviation;
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
  return noise;
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

}  // namespace peakmark::trend
