#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/shape.hpp"
#include "device/device.hpp"
#include "kernels/common/seeded.hpp"
#include "worker/variant.hpp"

namespace peakmark {

/// Compares rows with what they should be and keeps count of what is wrong.
class RowComparison {
 public:
  explicit RowComparison(Shape shape) : shape_(std::move(shape)) {}

  /// `row` counts rows of the array in C order. A NaN equals only a NaN.
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

  [[nodiscard]] Verification verification() const;

 private:
  void note_first(Size row, Size x, double expected, double actual, double tolerance);

  Shape shape_;
  Size compared_ = 0;
  Size wrong_ = 0;
  std::string first_;
};

/// Which rows a verification looks at: all, where the array has at most kWholeElements; else the first and
/// the last, those in `always` (which lie inside the array) and kSampledRows more, the same in every run.
/// Ascending.
inline constexpr Size kWholeElements = Size{1} << 22;
inline constexpr Size kSampledRows = 256;
std::vector<Size> rows_to_verify(const Shape& shape, std::span<const Size> always);

/// Pulls the rows that rows_to_verify chooses and gives each to `check(row, values)`.
template <typename T, typename Check>
void for_each_verified_row(Device& device, const Array& array, std::span<const Size> always, Check&& check) {
  const Size width = array.shape()[array.shape().rank() - 1];
  if (array.shape().elements() <= kWholeElements) {
    const std::vector<T> values = device.pull<T>(array);
    const auto all = std::span(values);
    for (Size row = 0; width > 0 && row < static_cast<Size>(all.size()) / width; ++row)
      check(row, all.subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width)));
    return;
  }
  std::vector<T> values(static_cast<std::size_t>(width));
  for (const Size row : rows_to_verify(array.shape(), always)) {
    device.pull_part<T>(array, checked_multiply(row, width), std::span(values));
    check(row, std::span<const T>(values));
  }
}

}  // namespace peakmark
