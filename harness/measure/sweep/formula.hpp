#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "measure/sweep/expression.hpp"

namespace peakmark {

/// An Expression as a user writes it: `2 * nx + 1`, `max(ny, nx) / 2`, `next_pow2(2 * w)`.
///
/// It has numbers, axis names, parentheses, `+ - * / %`, and the functions `min` and `max` (of one or more),
/// `ceil_div(a, b)`, `pow2(k)`, `next_pow2(x)`, `next_smooth(x, p)`, `ceil(x)`, `floor(x)` and `round(x)`.
/// Nothing is folded, so that an error has the column of the operation that the user wrote.
class Formula {
 public:
  /// Throws UsageError with the text and the column of the error.
  explicit Formula(std::string text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const Expression& expression() const { return expression_; }
  /// Returns the axes in the formula, without duplicates, in order of appearance.
  [[nodiscard]] const std::vector<std::string>& axes() const { return axes_; }
  /// Returns the value. `value_of` returns the value of an axis. Throws as Expression::evaluate_number()
  /// does, with text and column.
  [[nodiscard]] Number evaluate(const std::function<Number(const std::string& axis)>& value_of) const;
  /// Returns the value. Throws UsageError if it is a floating-point number.
  [[nodiscard]] Size evaluate_integer(const std::function<Number(const std::string& axis)>& value_of) const;

 private:
  std::string text_;
  Expression expression_;
  std::vector<std::string> axes_;
};

}  // namespace peakmark
