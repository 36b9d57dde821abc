#include "analyse/fit/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "base/bisection.hpp"
#include "base/error.hpp"

namespace peakmark {
namespace {

/// Maximum power of the axis with which bytes grow, besides a fixed part: the edge of a cube is the usual
/// extreme.
constexpr int kMaxExponent = 3;
/// A formula through two peaks is confirmed by a third whose error is at most this share of their difference.
constexpr long double kMaxResidual = 1e-3L;
/// Maximum error of an extrapolation as a share of the budget, if the error of a confirmed formula grows as
/// the square of the axis.
constexpr long double kMaxError = 0.02L;
/// Maximum factor of an extrapolation that no third peak confirms.
constexpr Size kMaxJump = 16;

long double power(Size value, int exponent) {
  return std::pow(static_cast<long double>(value), static_cast<long double>(exponent));
}

/// Returns the index of a value in the range.
Size place_of(const SearchRange& range, Size value) {
  if (range.list.empty()) return (value - range.min) / range.step;
  return std::ranges::lower_bound(range.list, value) - range.list.begin();
}

/// Returns the largest value of the range between `low`, one of its values, and range.max for which `fits` is
/// true; null if it is false for `low`. `fits` must be true up to some value and false after it.
template <typename Fits>
std::optional<Size> largest_in(const SearchRange& range, Size low, const Fits& fits) {
  if (low > range.max || !fits(low)) return std::nullopt;
  return range.at(
      bisect(place_of(range, low), range.count(), [&](Size place) { return fits(range.at(place)); }));
}

}  // namespace

Size SearchRange::count() const {
  if (list.empty()) return (max - min) / step + 1;
  return std::ranges::upper_bound(list, max) - list.begin();
}

Size SearchRange::at(Size place) const {
  return list.empty() ? min + place * step : list.at(static_cast<std::size_t>(place));
}

std::optional<Size> SearchRange::at_most(Size value) const {
  if (value < min) return std::nullopt;
  const Size last = std::min(value, max);
  if (list.empty()) return min + (last - min) / step * step;
  return *std::prev(std::ranges::upper_bound(list, last));
}

std::optional<Size> SearchRange::above(Size value) const {
  const Size next = place_of(*this, value) + 1;
  return next < count() ? std::optional(at(next)) : std::nullopt;
}

/// Bytes as a + b·v^exponent + c·v².
struct LargestValueSearch::Model {
  long double a = 0;
  long double b = 0;
  long double c = 0;
  int exponent = 1;
  /// The error at the third peak; null if no third peak confirms the model.
  std::optional<long double> residual;

  [[nodiscard]] long double operator()(Size value) const {
    return a + b * power(value, exponent) + c * power(value, 2);
  }

  /// Returns the model through two peaks.
  static Model through(const Point& low, const Point& high, int exponent) {
    const long double slope = static_cast<long double>(high.bytes - low.bytes) /
                              (power(high.value, exponent) - power(low.value, exponent));
    return {static_cast<long double>(low.bytes) - slope * power(low.value, exponent), slope, 0, exponent,
            std::nullopt};
  }

  /// Returns the model through three peaks. It is confirmed if its coefficients are integers, which is
  /// unlikely by chance.
  static Model parabola(const Point& low, const Point& middle, const Point& high) {
    const auto slope = [](const Point& first, const Point& second) {
      return static_cast<long double>(second.bytes - first.bytes) /
             static_cast<long double>(second.value - first.value);
    };
    Model model;
    model.c = (slope(middle, high) - slope(low, middle)) / static_cast<long double>(high.value - low.value);
    model.b = slope(low, middle) - model.c * static_cast<long double>(low.value + middle.value);
    model.a = static_cast<long double>(low.bytes) - model.b * static_cast<long double>(low.value) -
              model.c * power(low.value, 2);
    const bool are_integers = std::nearbyint(model.c) == model.c && std::nearbyint(model.b) == model.b;
    if (are_integers && model.c >= 0 && high.value - low.value >= 8) model.residual = 0;
    return model;
  }
};

bool exceeds_allocation(const FitTrial& trial, const std::optional<Size>& max_allocation) {
  return max_allocation && trial.largest_allocation && *trial.largest_allocation > *max_allocation;
}

LargestValueSearch::LargestValueSearch(SearchRange range, Size budget_bytes, PredictedBytes formula,
                                       std::optional<Size> max_allocation)
    : range_(range), budget_(budget_bytes), formula_(std::move(formula)), max_allocation_(max_allocation) {
  if (range.min <= 0 || range.step <= 0 || range.max < range.min)
    throw UsageError(
        fmt::format("no value to try: from {} to {} in steps of {}", range.min, range.max, range.step));
  if (budget_bytes < 0) throw UsageError(fmt::format("negative budget: {}", budget_bytes));
}

bool LargestValueSearch::fits(const FitTrial& trial) const {
  return trial.peak_bytes && *trial.peak_bytes <= budget_ && !exceeds_allocation(trial, max_allocation_);
}

/// Returns the bytes of the budget that a trial needs: they exceed the budget exactly if the trial does not
/// fit. Null if an allocation was refused that the device allows.
std::optional<Size> LargestValueSearch::demand(const FitTrial& trial) const {
  if (!trial.peak_bytes && !exceeds_allocation(trial, max_allocation_)) return std::nullopt;
  Size bytes = trial.peak_bytes.value_or(0);
  if (max_allocation_ && *max_allocation_ > 0 && trial.largest_allocation) {
    const long double share =
        static_cast<long double>(*trial.largest_allocation) / static_cast<long double>(*max_allocation_);
    const long double scaled = std::ceil(share * static_cast<long double>(budget_));
    if (scaled < static_cast<long double>(std::numeric_limits<Size>::max()))
      bytes = std::max(bytes, static_cast<Size>(scaled));
  }
  return bytes;
}

bool LargestValueSearch::is_tried(Size value) const {
  return std::ranges::any_of(trials_, [&](const FitTrial& trial) { return trial.value == value; });
}

std::optional<Size> LargestValueSearch::largest() const {
  std::optional<Size> found;
  for (const FitTrial& trial : trials_) {
    if (fits(trial)) found = std::max(found.value_or(0), trial.value);
  }
  return found;
}

bool LargestValueSearch::is_decreasing_somewhere() const {
  return !std::ranges::is_sorted(peaks_, {}, &Point::bytes);
}

bool LargestValueSearch::is_formula_confirmed() const {
  return formula_ && !trials_.empty() && std::ranges::all_of(trials_, [&](const FitTrial& trial) {
           return trial.peak_bytes && trial.peak_bytes == formula_(trial.value);
         });
}

void LargestValueSearch::add(const FitTrial& trial) {
  trials_.push_back(trial);
  if (exceeds_allocation(trial, max_allocation_))
    formula_ = {};  // the formula predicts the peak, but here the allocation limit decides
  const auto insert = [&](std::vector<Point>& points, const std::optional<Size>& bytes) {
    if (!bytes) return;
    points.push_back({trial.value, *bytes});
    std::ranges::sort(points, {}, &Point::value);
  };
  insert(peaks_, trial.peak_bytes);
  insert(demands_, demand(trial));
}

/// Returns the error of the formula at a value: that of the nearest recorded value, corrected by the line to
/// the second nearest, and never beyond the errors of these two.
std::optional<Size> LargestValueSearch::missed_by_formula(Size value) const {
  std::vector<Point> nearest = peaks_;
  std::ranges::stable_sort(nearest, {}, [&](const Point& point) { return std::abs(point.value - value); });
  const std::optional<Size> first = formula_(nearest[0].value);
  if (!first) return std::nullopt;
  const Size missed = nearest[0].bytes - *first;
  if (nearest.size() < 2) return missed;
  const std::optional<Size> second = formula_(nearest[1].value);
  if (!second) return missed;
  const Size apart = nearest[0].value - nearest[1].value;
  const Size way = std::clamp(value - nearest[0].value, -std::abs(apart), std::abs(apart));
  const long double change = static_cast<long double>(missed - (nearest[1].bytes - *second)) *
                             static_cast<long double>(way) / static_cast<long double>(apart);
  return missed + static_cast<Size>(change);
}

std::optional<Size> LargestValueSearch::predict(Size value) const {
  if (formula_) {
    const std::optional<Size> bytes = formula_(value);
    if (!bytes || peaks_.empty()) return bytes;
    const std::optional<Size> missed = missed_by_formula(value);
    return missed ? std::optional(checked_add(*bytes, *missed)) : std::nullopt;
  }
  if (peaks_.empty()) return std::nullopt;
  const Model formula = model(peaks_);
  if (!formula.residual) return std::nullopt;
  const long double bytes = std::ceil(formula(value));
  if (bytes >= static_cast<long double>(std::numeric_limits<Size>::max())) return std::nullopt;
  return std::max(Size{0}, static_cast<Size>(bytes));
}

std::optional<Size> LargestValueSearch::next() const {
  const std::optional<Size> target = formula_ ? next_by_formula() : next_by_peaks();
  if (target || !is_proof_required_) return target;
  const std::optional<Size> best = largest();
  const std::optional<Size> above = best ? range_.above(*best) : std::nullopt;
  return above && !is_tried(*above) ? above : std::nullopt;
}

/// Returns the smallest value above the largest fitting one for which the budget did not suffice.
std::optional<Size> LargestValueSearch::smallest_refused() const {
  const Size best = largest().value_or(0);
  std::optional<Size> found;
  for (const FitTrial& trial : trials_) {
    if (!fits(trial) && trial.value > best && (!found || trial.value < *found)) found = trial.value;
  }
  return found;
}

std::optional<Size> LargestValueSearch::next_by_formula() const {
  const std::optional<Size> best = largest();
  const std::optional<Size> refused = smallest_refused();
  SearchRange range = range_;
  Size budget = budget_;
  if (refused) {
    // The formula allows too much. A recorded peak below it shows how much the formula misses; until there is
    // one, half of the budget is reserved for this.
    const std::optional<Size> below = range.at_most(*refused - 1);
    if (!below) return std::nullopt;
    range.max = *below;
    if (!best) budget >>= static_cast<Size>(std::min<std::size_t>(trials_.size(), 62));
  }
  const auto intervals = fitting_intervals(range, budget, [this](Size value) { return predict(value); });
  if (intervals.empty()) {
    // A formula that no trial contradicts is trusted; else the smallest value is run.
    return trials_.empty() || is_tried(range.min) ? std::nullopt : std::optional(range.min);
  }
  Size target = intervals.back().last;
  if (best && target <= *best) return std::nullopt;
  // The corrected formula still allows the refused value: halve the remaining range.
  if (refused && best && trials_.size() > 3)
    target = std::max(*range.above(*best), *range.at_most(*best + (*refused - *best) / 2));
  return is_tried(target) ? std::nullopt : std::optional(target);
}

LargestValueSearch::Model LargestValueSearch::model(const std::vector<Point>& points) {
  const std::size_t count = points.size();
  if (count == 1)
    return {0, static_cast<long double>(points[0].bytes) / power(points[0].value, kMaxExponent), 0,
            kMaxExponent, std::nullopt};
  const Point& last = points[count - 1];
  if (count == 2) return Model::through(points[0], last, kMaxExponent);
  const Point& low = points[count - 3];
  const Point& middle = points[count - 2];
  const Model parabola = Model::parabola(low, middle, last);
  if (parabola.residual) return parabola;
  std::optional<Model> best;
  for (int exponent = 1; exponent <= kMaxExponent; ++exponent) {
    Model model = Model::through(low, last, exponent);
    const long double residual = std::abs(model(middle.value) - static_cast<long double>(middle.bytes));
    if (residual > kMaxResidual * static_cast<long double>(std::abs(last.bytes - low.bytes))) continue;
    model.residual = residual;
    if (!best || residual < *best->residual) best = model;
  }
  return best ? *best : parabola;
}

/// Returns the most informative value between one that fits and one that does not. Many programs round
/// lengths to a power of two: if memory steps there, two trials decide. Otherwise the remaining range is
/// halved.
Size LargestValueSearch::between(Size fitting, Size refused) const {
  const auto power = static_cast<Size>(std::bit_floor(static_cast<std::uint64_t>(refused - 1)));
  if (power > fitting && range_.at_most(power) == power) return power;
  const Size next = *range_.above(fitting);  // it exists: it is `refused` or smaller
  if (std::has_single_bit(static_cast<std::uint64_t>(fitting)) && !is_tried(next)) return next;
  return std::max(next, *range_.at_most(fitting + (refused - fitting) / 2));
}

std::optional<Size> LargestValueSearch::next_by_peaks() const {
  const std::optional<Size> best = largest();
  if (!best) return is_tried(range_.min) ? std::nullopt : std::optional(range_.min);
  SearchRange range = range_;
  const std::optional<Size> refused = smallest_refused();
  if (refused) range.max = *range.at_most(*refused - 1);
  const std::optional<Size> next_value = range.above(*best);
  if (!next_value) return std::nullopt;
  const Size above = *next_value;

  const long double budget = static_cast<long double>(budget_);
  const auto largest_by = [&](const auto& bytes) {
    return largest_in(range, above, [&](Size value) { return bytes(value) <= budget; });
  };
  const Model formula = model(demands_);
  const Point& last = demands_.back();
  std::optional<Size> target;
  if (formula.residual) {
    const long double error = *formula.residual;
    target = largest_by(formula);
    if (error > 0 && target) {
      // Limited to the values where the error is still small.
      const auto trusted = largest_by([&](Size value) {
        return error * power(value, 2) / power(last.value, 2) <= kMaxError * budget ? formula(value)
                                                                                    : budget + 1;
      });
      target = trusted ? trusted : target;
    }
  } else {
    target = largest_by(formula);
    if (demands_.size() >= 3) {
      const auto cautious = largest_by(Model::through(demands_[demands_.size() - 2], last, kMaxExponent));
      if (target && cautious) target = std::min(*target, *cautious);
    } else if (!target && demands_.size() == 2) {
      // With cubic growth nothing larger fits; with linear growth it may.
      target = largest_by(Model::through(demands_.front(), last, 1));
    } else if (!target) {
      target = above;
    }
  }
  // Decreasing peaks predict nothing about larger values.
  const bool is_decreasing = demands_.size() > 1 && demands_[demands_.size() - 2].bytes > last.bytes;
  if (target && (!formula.residual || is_decreasing)) {
    const Size jump = checked_multiply(last.value, is_decreasing ? 2 : kMaxJump);
    target = range.at_most(std::min(*target, std::max(jump, above)));
  }
  // A value was refused although its bytes were predicted to fit.
  if (refused && target && *target == range.max) target = between(*best, *refused);
  if (!target || *target <= *best || is_tried(*target)) return std::nullopt;
  return target;
}

std::vector<FittingInterval> fitting_intervals(const SearchRange& range, Size budget_bytes,
                                               const PredictedBytes& formula) {
  const auto fits = [&](Size step) {
    const std::optional<Size> bytes = formula(range.at(step));
    return bytes && *bytes <= budget_bytes;
  };
  const Size count = range.count();
  const Size stride = divide_up(count, kMaxEvaluated);
  std::vector<FittingInterval> intervals;
  const auto value = [&](Size step) { return range.at(step); };
  bool was_fitting = false;
  Size previous = 0;
  for (Size step = 0;; step = std::min(step + stride, count - 1)) {
    const bool is_fitting = fits(step);
    if (is_fitting && !was_fitting) {
      const Size first = step == 0 ? 0 : bisect(step, previous, fits);
      intervals.push_back({value(first), value(step)});
    }
    if (!is_fitting && was_fitting) intervals.back().last = value(bisect(previous, step, fits));
    was_fitting = is_fitting;
    previous = step;
    if (step == count - 1) break;
  }
  if (was_fitting) intervals.back().last = value(count - 1);
  return intervals;
}

std::vector<std::pair<Size, Size>> predicted_curve(const LargestValueSearch& search,
                                                   const SearchRange& range) {
  constexpr Size kCurvePoints = 200;
  Size last = range.min;
  for (const FitTrial& trial : search.trials()) last = std::max(last, trial.value);
  last = std::min(range.max, last + last / 4);
  const Size stride = divide_up(divide_up(last - range.min + 1, kCurvePoints), range.step) * range.step;
  std::vector<std::pair<Size, Size>> points;
  for (Size value = range.min; value <= last; value += stride) {
    if (const std::optional<Size> bytes = search.predict(value)) points.emplace_back(value, *bytes);
  }
  return points;
}

ChunkPlan plan_chunks(Size slices, Size chunk_slices) {
  if (slices <= 0 || chunk_slices <= 0)
    throw UsageError(fmt::format("no chunks of {} slices for {} slices", chunk_slices, slices));
  ChunkPlan plan{slices, std::min(slices, chunk_slices), divide_up(slices, chunk_slices), 0};
  plan.last_slices = slices - (plan.chunks - 1) * plan.chunk_slices;
  return plan;
}

}  // namespace peakmark
