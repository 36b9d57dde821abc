#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "analyse/fit/search.hpp"

namespace peakmark {

/// The bytes that an estimator predicts along an axis, from few questions, because each may need a process.
///
/// Values are asked in batches: first powers of two times the smallest value and some values between them,
/// then values ever closer to where the answers cross the budget, until both neighbours of a crossing are
/// known. Between asked values the bytes are interpolated linearly.
class EstimatedBytes {
 public:
  /// Returns the bytes at each value; null if the estimator has no answer.
  using Ask = std::function<std::vector<std::optional<Size>>(const std::vector<Size>& values)>;

  EstimatedBytes(const SearchRange& range, Size budget_bytes, const Ask& ask);

  /// Returns the asked value that follows the largest fitting one, if the estimator has no answer there: then
  /// the largest value that fits is unknown.
  [[nodiscard]] std::optional<Size> gap_above() const;

  /// Returns the bytes at a value of the range; null if they are unknown.
  [[nodiscard]] std::optional<Size> operator()(Size value) const;

 private:
  struct Point {
    Size value = 0;
    std::optional<Size> bytes;
  };

  void add(const std::vector<Size>& values, const Ask& ask);
  [[nodiscard]] bool fits(const Point& point) const { return point.bytes && *point.bytes <= budget_; }
  /// Returns the index of the point after the last fitting one.
  [[nodiscard]] std::size_t after_last_fitting() const;

  Size budget_;
  std::vector<Point> points_;  ///< sorted by value
};

}  // namespace peakmark
