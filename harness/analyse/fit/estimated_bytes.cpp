#include "analyse/fit/estimated_bytes.hpp"

#include <algorithm>
#include <utility>

namespace peakmark {
namespace {

/// Number of values that one process is asked about between two answered values of which only one fits.
constexpr Size kValuesBetween = 1024;
/// In this many intervals between powers of two beyond the last fitting one, values are asked even if no
/// power of two fits there, because memory may decrease again.
constexpr std::size_t kIntervalsBeyond = 2;

}  // namespace

EstimatedBytes::EstimatedBytes(const SearchRange& range, Size budget_bytes, const Ask& ask)
    : budget_(budget_bytes) {
  const Size last = *range.at_most(range.max);
  std::vector<Size> values{range.min};
  while (values.back() < last) values.push_back(values.back() <= last / 2 ? 2 * values.back() : last);
  add(std::exchange(values, {}), ask);
  // Adds evenly spread values between a point and the next one.
  const auto add_between = [&](std::size_t point) {
    const Size low = points_[point].value;
    const Size high = points_[point + 1].value;
    const Size stride = divide_up(divide_up(high - low, kValuesBetween), range.step) * range.step;
    for (Size value = low + stride; value < high; value += stride) values.push_back(value);
  };
  const std::size_t after = after_last_fitting();
  for (std::size_t i = after < 2 ? 0 : after - 2; i + 1 < points_.size() && i <= after + kIntervalsBeyond;
       ++i)
    add_between(i);
  while (!values.empty()) {
    add(std::exchange(values, {}), ask);
    for (std::size_t i = 0; i + 1 < points_.size(); ++i) {
      if (fits(points_[i]) != fits(points_[i + 1])) add_between(i);
    }
  }
}

void EstimatedBytes::add(const std::vector<Size>& values, const Ask& ask) {
  const std::vector<std::optional<Size>> answers = ask(values);
  points_.reserve(points_.size() + values.size());
  for (std::size_t i = 0; i < values.size(); ++i) points_.push_back({values[i], answers[i]});
  std::ranges::sort(points_, {}, &Point::value);
}

std::size_t EstimatedBytes::after_last_fitting() const {
  const auto last =
      std::find_if(points_.rbegin(), points_.rend(), [&](const Point& one) { return fits(one); });
  return static_cast<std::size_t>(points_.rend() - last);
}

std::optional<Size> EstimatedBytes::gap_above() const {
  const std::size_t next = after_last_fitting();
  return next == points_.size() || points_[next].bytes ? std::nullopt : std::optional(points_[next].value);
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
