#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// A formula of integers over axes: `4 * (ny + pad_y0 + pad_y1) * nx`. Immutable; a copy is cheap. Safe to
/// read from several threads.
///
/// The operations are those with which programs compute sizes of allocations: sums, products, divisions
/// rounded up or down, the next power of two, the next length that an FFT handles directly, minimum and
/// maximum.
class Expression {
 public:
  enum class Operation : unsigned char {
    integer,
    axis,
    add,
    multiply,
    divide_down,  ///< ⌊a / b⌋
    divide_up,    ///< ⌈a / b⌉
    remainder,    ///< a − b·⌊a / b⌋
    next_pow2,    ///< least power of two ≥ a
    next_smooth,  ///< least integer ≥ a without a prime factor above b
    min,
    max,
  };

  /// The integer 0.
  Expression() : Expression(Size{0}) {}
  explicit Expression(Size integer);
  static Expression axis(std::string name);
  /// Sums and products of any number of operands; integers are folded, nested sums and products flattened.
  static Expression add(std::vector<Expression> operands);
  static Expression multiply(std::vector<Expression> operands);
  /// All others. `next_pow2` has one operand, the rest two.
  static Expression apply(Operation operation, std::vector<Expression> operands);

  [[nodiscard]] Operation operation() const { return node_->operation; }
  /// The value of an `integer`.
  [[nodiscard]] Size integer() const { return node_->integer; }
  /// The name of an `axis`.
  [[nodiscard]] const std::string& name() const { return node_->name; }
  [[nodiscard]] const std::vector<Expression>& operands() const { return node_->operands; }
  [[nodiscard]] bool is_integer(Size value) const {
    return operation() == Operation::integer && integer() == value;
  }

  /// Returns the value where `value_of` gives that of each axis. Throws OverflowError where a part of it does
  /// not fit 64 bits, UsageError for a division by 0 or less.
  [[nodiscard]] Size evaluate(const std::function<Size(const std::string& axis)>& value_of) const;

  /// The axes that it reads, each once, in order of appearance.
  [[nodiscard]] std::vector<std::string> axes() const;
  /// The number of operations and operands: of two exact formulas the one with less is the simpler.
  [[nodiscard]] Size complexity() const;

  bool operator==(const Expression& other) const;

 private:
  struct Node {
    Operation operation = Operation::integer;
    Size integer = 0;
    std::string name;
    std::vector<Expression> operands;
  };
  explicit Expression(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

/// Least integer ≥ `length` without a prime factor above `largest_prime` (2 to 13); 1 where `length` ≤ 1.
/// Throws OverflowError where it does not fit 64 bits.
Size next_smooth(Size length, Size largest_prime);

/// How an expression is written: `plain` as suites and people write it, `python` and `cpp` as code, `latex`.
enum class ExpressionStyle : unsigned char { plain, python, cpp, latex };
std::string to_text(const Expression& expression, ExpressionStyle style = ExpressionStyle::plain);

}  // namespace peakmark
