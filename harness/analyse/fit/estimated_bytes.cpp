#include "analyse/fit/estimated_bytes.hpp"

#include <algorithm>
#include <iterator>

namespace peakmark {
namespace {

/// The number of values that are asked at once between two answers, one of which fits. One process answers
/// all.
constexpr Size kValuesBetween = 1024;
/// In this many intervals between powers of two beyond the last fitting one, values are asked even if no
/// power of two fits there, because memory may decrease again.
constexpr std::size_t kIntervalsBeyond = 2;

/// Returns values of the range after `low` and before `high`, at most `count`, evenly spread.
std::vector<Size> values_between(const SearchRange& range, Size low, Size high, Size count) {
  std::vector<Size> values;
  const Size stride = divide_up(divide_up(high - low, count), range.step) * range.step;
  for (Size value = low + stride; value < high; value += stride) values.push_back(value);
  return values;
}

}  // namespace

EstimatedBytes::EstimatedBytes(const SearchRange& range, Size budget_bytes, const Ask& ask) {
  const Size last = *range.at_most(range.max);
  std::vector<Size> doublings{range.min};
  while (doublings.back() < last)
    doublings.push_back(doublings.back() <= last / 2 ? 2 * doublings.back() : last);
  add(doublings, ask);
  const auto fits = [&](const Point& point) { return point.bytes && *point.bytes <= budget_bytes; };
  const auto last_fitting = std::find_if(points_.rbegin(), points_.rend(), fits);
  const auto after = static_cast<std::size_t>(points_.rend() -
                                              last_fitting);  // index of the point after the last fitting one
  std::vector<Size> values;
  for (std::size_t i = after < 2 ? 0 : after - 2; i + 1 < points_.size() && i <= after + kIntervalsBeyond;
       ++i)
    std::ranges::copy(values_between(range, points_[i].value, points_[i + 1].value, kValuesBetween),
                      std::back_inserter(values));
  for (; !values.empty(); values = values_near_crossings(range, budget_bytes)) add(values, ask);
}

void EstimatedBytes::add(const std::vector<Size>& values, const Ask& ask) {
  const std::vector<std::optional<Size>> answers = ask(values);
  points_.reserve(points_.size() + values.size());
  for (std::size_t i = 0; i < values.size(); ++i) points_.push_back({values[i], answers[i]});
  std::ranges::sort(points_, {}, &Point::value);
}

std::vector<Size> EstimatedBytes::values_near_crossings(const SearchRange& range, Size budget_bytes) const {
  const auto fits = [&](const Point& point) { return point.bytes && *point.bytes <= budget_bytes; };
  std::vector<Size> values;
  for (std::size_t i = 0; i + 1 < points_.size(); ++i) {
    const Point& low = points_[i];
    const Point& high = points_[i + 1];
    if (fits(low) == fits(high)) continue;
    std::ranges::copy(values_between(range, low.value, high.value, kValuesBetween),
                      std::back_inserter(values));
  }
  return values;
}

std::optional<Size> EstimatedBytes::gap_above(Size budget_bytes) const {
  const auto last_fitting = std::find_if(points_.rbegin(), points_.rend(), [&](const Point& point) {
    return point.bytes && *point.bytes <= budget_bytes;
  });
  const auto next = last_fitting.base();
  return next == points_.end() || next->bytes ? std::nullopt : std::optional(next->value);
}

std::optional<Size> EstimatedBytes::operator()(Size value) const {
  const auto above = std::ranges::lower_bound(points_, value, {}, &Point::value);
  if (above == points_.end()) return std::nullopt;
  if (above->value == value) return above->bytes;
  if (above == points_.begin() || !above->bytes || !(above - 1)->bytes) return std::nullopt;
  const Point& below = *(above - 1);
  const long double share =
      static_cast<long double>(value - below.value) / static_cast<long double>(above->value - below.value);
  return *below.bytes + static_cast<Size>(share * static_cast<long double>(*above->bytes - *below.bytes));
}

}  // namespace peakmark
