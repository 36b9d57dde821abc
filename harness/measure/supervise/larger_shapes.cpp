#include "measure/supervise/larger_shapes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

namespace peakmark {
namespace {

// The first primes above 4096: longer than the lengths with which programs compare, and multiples of nothing.
constexpr std::array<Size, 6> kLongLengths{4099, 4111, 4127, 4129, 4133, 4139};
// A long axis is recorded only if it is at least this many times as long as before.
constexpr Size kMinLonger = 2;
// Bytes grow at most with this power of one axis, and time usually with less than the other power.
constexpr double kMaxPower = 3;
constexpr double kUsualPower = 1.5;
constexpr double kStep = 4;
constexpr double kLargeStep = 16;
constexpr double kMinStep = 1.5;
// A shorter time cannot predict a longer one.
constexpr double kMinSeconds = 0.01;
// The time for starting a program varies by this share.
constexpr double kStartNoise = 0.1;
// The number of shapes for axes that grow together.
constexpr std::size_t kGrown = 4;

Size peak(const Observation& observation) {
  return observation.allocation_sequence ? peak_bytes(*observation.allocation_sequence) : 0;
}

}  // namespace

LargerShapes::LargerShapes(ShapeChooser& chooser, const std::vector<Observation>& small, Limits limits,
                           std::optional<Parameters> wanted)
    : chooser_(chooser), small_(small), limits_(limits), wanted_(std::move(wanted)) {}

double LargerShapes::work_seconds(const Observation& observation) const {
  const double least = small_.front().seconds.value_or(0);
  const double work = observation.seconds.value_or(0) - least;
  return work > kStartNoise * least ? std::max(work, kMinSeconds) : kMinSeconds;
}

double LargerShapes::growth(const Observation& from, double bytes_exponent, double seconds_exponent,
                            const Limit& limit) const {
  const double bytes = std::max(1.0, static_cast<double>(peak(from)));
  // The largest shape gives the best estimate of the time per byte.
  const Observation& largest = largest_ ? *largest_ : *std::ranges::max_element(small_, {}, peak);
  const double seconds = work_seconds(largest) * bytes / std::max(1.0, static_cast<double>(peak(largest)));
  return std::min(std::pow(static_cast<double>(limit.bytes) / bytes, 1 / bytes_exponent),
                  std::pow(limit.seconds / seconds, 1 / seconds_exponent));
}

std::vector<Parameters> LargerShapes::long_axes() {
  std::vector<Parameters> shapes;
  const std::vector<std::string> axes = chooser_.growing_axes();
  for (std::size_t a = 0; a < axes.size() && shapes.size() + kGrown < limits_.shapes; ++a) {
    const auto length = [&](const Observation& one) { return one.axes.integer(axes[a]); };
    const Observation& longest = *std::ranges::max_element(small_, {}, length);
    const double factor = growth(longest, kMaxPower, kUsualPower, limits_.grown);
    const double allowed = static_cast<double>(std::max<Size>(length(longest), 1)) * factor;
    Size wanted = kLongLengths[a % kLongLengths.size()];
    if (allowed < static_cast<double>(wanted)) wanted = static_cast<Size>(allowed) | 1;
    if (wanted < kMinLonger * length(longest)) continue;
    if (auto shape = chooser_.lengthened(axes[a], wanted)) shapes.push_back(std::move(*shape));
  }
  return shapes;
}

std::optional<Parameters> LargerShapes::grown() {
  const Observation& last = largest_ ? *largest_ : small_.front();
  if (is_refused_ && !is_multiple_ && !largest_) {
    is_multiple_ = true;
  } else if (is_refused_ || recorded_.size() + (wanted_ ? 1 : 0) >= limits_.shapes) {
    return std::nullopt;
  } else {
    if (!largest_) exponent_ = std::max(1.0, static_cast<double>(chooser_.growing_axes().size()));
    const double step = std::min(limits_.takes_few_steps ? kLargeStep : kStep,
                                 growth(last, exponent_, exponent_ + 1, limits_.grown));
    if (step < kMinStep) return std::nullopt;
    next_factor_ = factor_ * step;
  }
  return growing_ = chooser_.scaled(next_factor_, is_multiple_);
}

std::optional<Parameters> LargerShapes::wanted() {
  if (!wanted_ || recorded_.size() >= limits_.shapes) return std::nullopt;
  const Observation& last = largest_ ? *largest_ : small_.front();
  const std::vector<std::string> axes = chooser_.growing_axes();
  const auto length = [](Size value) { return static_cast<double>(std::max<Size>(value, 1)); };
  double ratio = 1;
  for (const std::string& axis : axes)
    ratio *= length(wanted_->integer(axis)) / length(last.axes.integer(axis));
  const double allowed = growth(last, 1, kUsualPower, limits_.wanted);
  if (std::min(ratio, allowed) <= 1) return std::nullopt;  // a larger one was recorded before
  Parameters shape = *wanted_;
  if (ratio > allowed) {
    const double less = std::pow(allowed / ratio, 1 / static_cast<double>(axes.size()));
    for (const std::string& axis : axes)
      shape.set(axis, std::max<Size>(1, static_cast<Size>(length(wanted_->integer(axis)) * less)));
  }
  return shape;
}

std::vector<Parameters> LargerShapes::next() {
  const auto list = [](std::optional<Parameters> shape) {
    return shape ? std::vector<Parameters>{std::move(*shape)} : std::vector<Parameters>();
  };
  std::vector<Parameters> shapes;
  if (step_ == Step::long_axes) {
    shapes = long_axes();
    step_ = Step::growing;
  }
  if (shapes.empty() && step_ == Step::growing) {
    shapes = list(grown());
    if (shapes.empty()) step_ = Step::wanted;
  }
  if (shapes.empty() && step_ == Step::wanted) {
    shapes = list(wanted());
    step_ = Step::done;
  }
  return shapes;
}

void LargerShapes::take(const Parameters& shape, Observation observation) {
  const bool is_recorded = observation.outcome == Outcome::ok && observation.allocation_sequence.has_value();
  if (growing_ && shape == *growing_) {
    is_refused_ = !is_recorded;
    if (is_recorded) {
      const Observation& before = largest_ ? *largest_ : small_.front();
      const double bytes = static_cast<double>(std::max<Size>(peak(observation), 1)) /
                           static_cast<double>(std::max<Size>(peak(before), 1));
      exponent_ = std::max(1.0, std::log(bytes) / std::log(next_factor_ / factor_));
      factor_ = next_factor_;
      largest_ = observation;
    }
  }
  if (is_recorded) recorded_.push_back(std::move(observation));
}

std::vector<Observation> LargerShapes::recorded() && {
  std::ranges::stable_sort(recorded_, std::greater{}, peak);
  return std::move(recorded_);
}

}  // namespace peakmark
