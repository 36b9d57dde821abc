#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "fit/search.hpp"

namespace peakmark {

/// The bytes that an estimator answers along an axis, from few questions, each of which may need a process.
///
/// Values are asked in batches: the powers of two times the smallest with some between them, then ever closer
/// to where the answers cross the budget, until neighbours are asked there. Between values that were asked
/// the bytes are linear.
class EstimatedBytes {
 public:
  /// Returns the bytes at each value; nothing where the estimator has none.
  using Ask = std::function<std::vector<std::optional<Size>>(const std::vector<Size>& values)>;

  EstimatedBytes(const SearchRange& range, Size budget_bytes, const Ask& ask);

  /// Returns the value after the last that fits, of those that were asked, if the estimator has no answer
  /// there: then it is not known which is the largest that fits.
  [[nodiscard]] std::optional<Size> gap_above(Size budget_bytes) const;

  /// Returns the bytes at a value of the range; nothing where they are not known.
  [[nodiscard]] std::optional<Size> operator()(Size value) const;

 private:
  struct Point {
    Size value = 0;
    std::optional<Size> bytes;
  };

  void add(const std::vector<Size>& values, const Ask& ask);
  [[nodiscard]] std::vector<Size> values_near_crossings(const SearchRange& range, Size budget_bytes) const;

  std::vector<Point> points_;  ///< by value
};

}  // namespace peakmark
