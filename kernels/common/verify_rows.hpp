#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/shape.hpp"
#include "kernels/common/arrays.hpp"
#include "kernels/common/seeded.hpp"

namespace peakmark {

/// Compares rows with the expected ones and counts the wrong elements.
class RowComparison {
 public:
  explicit RowComparison(Shape shape) : shape_(std::move(shape)) {}

  /// Compares row `row` of the array in C order. A NaN equals only a NaN.
  template <typename T>
  void add(Size row, std::span<const T> expected, std::span<const T> actual, double tolerance) {
    for (std::size_t x = 0; x < expected.size(); ++x) {
      ++compared_;
      const auto want = static_cast<double>(expected[x]);
      const auto got = static_cast<double>(actual[x]);
      if (std::abs(want - got) <= tolerance || expected[x] == actual[x] ||
          (std::isnan(want) && std::isnan(got)))
        continue;
      if (wrong_++ == 0) note_first(row, static_cast<Size>(x), want, got, tolerance);
    }
  }

  /// Returns a message with the number of wrong elements and the first one; empty if there is none.
  [[nodiscard]] std::string error() const;

 private:
  void note_first(Size row, Size x, double expected, double actual, double tolerance);

  Shape shape_;
  Size compared_ = 0;
  Size wrong_ = 0;
  std::string first_;
};

inline constexpr Size kWholeElements = Size{1} << 22;
inline constexpr Size kSampledRows = 256;
/// Returns the rows that a verification compares, in ascending order. For an array of at most kWholeElements
/// these are all rows. Otherwise they are the first, the last, those in `always`, and kSampledRows random
/// rows, which are the same in every run.
std::vector<Size> rows_to_verify(const Shape& shape, std::span<const Size> always);

/// Reads the rows that rows_to_verify chooses, and calls `check(row, values)` for each.
template <typename T, typename Check>
void for_each_verified_row(const DeviceArray& array, std::span<const Size> always, Check&& check) {
  const Shape extents = shape(array);
  const Size width = extents[extents.rank() - 1];
  if (extents.elements() <= kWholeElements) {
    const std::vector<T> values = array.read<T>();
    const auto all = std::span(values);
    for (Size row = 0; width > 0 && row < static_cast<Size>(all.size()) / width; ++row)
      check(row, all.subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width)));
    return;
  }
  std::vector<T> values(static_cast<std::size_t>(width));
  for (const Size row : rows_to_verify(extents, always)) {
    array.read_part<T>(checked_multiply(row, width), std::span(values));
    check(row, std::span<const T>(values));
  }
}

}  // namespace peakmark
