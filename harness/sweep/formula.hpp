#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// A formula that computes an axis from other axes: `2 * nx + 1`, `max(ny, nx) / 2`, `next_pow2(2 * w)`.
///
/// 64-bit integers, axis names, parentheses, `+ - * / %`, and the functions `min` and `max` (of one or more),
/// `ceil_div(a, b)`, `pow2(k)` = 2^k, `next_pow2(x)`, the smallest power of two ≥ x, and `next_smooth(x, p)`.
/// `/` rounds down and `%` is the remainder of that, as `//` and `%` in Python: -7 / 2 is -4 and -7 % 2 is 1.
///
/// Libraries for formulas compute in doubles, which are silently wrong above 2^53. Sizes must be exact or an
/// error.
class Formula {
 public:
  /// Throws UsageError with the text and the column of the error.
  explicit Formula(std::string text);

  [[nodiscard]] const std::string& text() const { return text_; }
  /// Returns the axes in the formula, each once, in order of appearance.
  [[nodiscard]] const std::vector<std::string>& axes() const { return axes_; }
  /// Returns the value. `value_of` returns the value of an axis. Throws OverflowError, and UsageError for a
  /// division by 0, with text and column.
  [[nodiscard]] Size evaluate(const std::function<Size(const std::string& axis)>& value_of) const;

  enum class Operation : unsigned char {
    integer,
    axis,
    add,
    subtract,
    multiply,
    divide,
    remainder,
    negate,
    min,
    max,
    ceil_divide,
    pow2,
    next_pow2,
    next_smooth,
  };
  /// A step of a stack machine: operands come before their operation.
  struct Step {
    Operation operation;
    std::size_t column;  ///< 1-based
    Size operand = 0;    ///< the integer; the index into `axes`
  };

 private:
  std::string text_;
  std::vector<std::string> axes_;
  std::vector<Step> steps_;
};

/// Returns a / b, rounded down. Throws UsageError for a division by 0, OverflowError if it does not fit 64
/// bits.
Size floor_divide(Size a, Size b);
/// Returns a / b, rounded up. Throws as floor_divide().
Size ceil_divide(Size a, Size b);
/// Returns the smallest power of two ≥ `x`. Throws OverflowError if it does not fit 64 bits.
Size next_power_of_two(Size x);
/// Returns the smallest integer ≥ `length` without a prime factor above `largest_prime` (2 to 13); 1 for
/// `length` ≤ 1. FFTs handle such lengths directly. Throws OverflowError if it does not fit 64 bits,
/// UsageError for another `largest_prime`.
Size next_smooth(Size length, Size largest_prime);

}  // namespace peakmark
