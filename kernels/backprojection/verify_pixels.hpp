#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/shape.hpp"
#include "kernels/backprojection/geometry.hpp"

namespace peakmark {

/// Returns the pixels of a stack of slices (n_z, h, w) that a verification compares: row of the stack →
/// columns. These are all pixels if that needs at most `interpolations`, with n_a per pixel. Else they are
/// the corners of the first slice, the last corners of the last slice, and at least about 64 random pixels
/// from `seed`.
std::map<Size, std::vector<Size>> pixels_to_verify(const Shape& slices, Size n_a, Size interpolations,
                                                   std::uint32_t seed);

/// Compares pixels of a stack (n_z, h, w) with expected values.
template <typename T>
class PixelComparison {
 public:
  explicit PixelComparison(Shape slices) : slices_(std::move(slices)) {}

  /// `row` is an index among all rows of the stack.
  void add(Size row, Size column, double expected, T actual) {
    largest_ = std::max(largest_, std::abs(expected));
    compared_.push_back({row, column, expected, actual});
  }

  /// Returns the largest of the expected values.
  [[nodiscard]] double largest() const { return largest_; }

  /// Returns a message with the number of wrong pixels and the first one; empty if there is none. A NaN is
  /// wrong.
  [[nodiscard]] std::string error(double tolerance) const {
    const auto is_wrong = [&](const Compared& c) {
      return !(std::abs(static_cast<double>(c.actual) - c.expected) <= tolerance);
    };
    const auto first = std::ranges::find_if(compared_, is_wrong);
    if (first == compared_.end()) return {};
    return fmt::format(
        "{} of {} pixels compared are wrong; the first, slices[{}, {}, {}], is {} instead of {} "
        "(tolerance {})",
        std::ranges::count_if(compared_, is_wrong), compared_.size(), first->row / slices_[1],
        first->row % slices_[1], first->column, first->actual, first->expected, tolerance);
  }

 private:
  struct Compared {
    Size row, column;
    double expected;
    T actual;
  };

  Shape slices_;
  double largest_ = 0;
  std::vector<Compared> compared_;
};

}  // namespace peakmark
