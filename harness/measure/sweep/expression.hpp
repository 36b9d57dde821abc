#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/size.hpp"
#include "measure/sweep/parameters.hpp"

namespace peakmark {

/// Arithmetic over axes: `4 * (ny + pad_y0 + pad_y1) * nx`. Immutable; a copy is cheap. Safe to read from
/// several threads. `Formula` parses it, to_text() writes it.
///
/// The operations are those with which programs compute sizes of allocations: sums, products, divisions
/// rounded up or down, the next power of two, the next length that an FFT handles directly, minimum and
/// maximum. They use 64-bit integers, because sizes must be exact or an error. Libraries for formulas compute
/// in doubles, which are silently wrong above 2^53.
///
/// A user's formula may also read floating-point numbers, as in `ceil(3 * sigma)`. An operation with one of
/// them is computed in doubles, as programs do.
class Expression {
 public:
  enum class Operation : unsigned char {
    integer,
    floating,  ///< a floating-point number; like `ceil`, `floor` and `round` only in a formula of a user
    axis,
    add,
    subtract,  ///< only in a formula of a user: add() uses terms with negative coefficients
    multiply,
    divide_down,  ///< ⌊a / b⌋, as Python's //: -7 / 2 is -4; of floating-point numbers the quotient
    divide_up,    ///< ⌈a / b⌉
    remainder,    ///< a − b·⌊a / b⌋, as Python's %: -7 % 2 is 1
    pow2,         ///< 2^a
    next_pow2,    ///< smallest power of two ≥ a
    next_smooth,  ///< smallest integer ≥ a without a prime factor above b (2 to 13); 1 for a ≤ 1
    min,
    max,
    if_zero,  ///< b if a is 0, else c: an axis whose 0 means "all"
    ceil,     ///< the three return an integer
    floor,
    round,  ///< the nearest integer; halves away from 0
  };

  /// The integer 0.
  Expression() : Expression(Size{0}) {}
  explicit Expression(Size integer);
  static Expression floating(double number);
  static Expression axis(std::string name);
  /// Return a sum or product of any number of operands. Integers are folded, nested sums and products
  /// flattened, and like terms of a sum collected: `4 * a + 8 * a` becomes `12 * a`.
  static Expression add(std::vector<Expression> operands);
  static Expression multiply(std::vector<Expression> operands);
  /// Returns any operation, including sums and products, with its operands unchanged. `pow2`, `next_pow2`,
  /// `ceil`, `floor` and `round` have one operand, `if_zero` has three, the others two. `column`: position of
  /// the operation in its text, from 1; 0: it has no text.
  static Expression apply(Operation operation, std::vector<Expression> operands, unsigned column = 0);

  [[nodiscard]] Operation operation() const { return node_->operation; }
  /// Returns the value of an `integer`.
  [[nodiscard]] Size integer() const { return node_->integer; }
  /// Returns the value of a `floating`.
  [[nodiscard]] double floating() const { return node_->floating; }
  /// Returns the name of an `axis`.
  [[nodiscard]] const std::string& name() const { return node_->name; }
  [[nodiscard]] const std::vector<Expression>& operands() const { return node_->operands; }
  [[nodiscard]] bool is_integer(Size value) const {
    return operation() == Operation::integer && integer() == value;
  }

  /// Returns the value; `value_of` returns the value of each axis. Throws OverflowError if an intermediate
  /// value does not fit 64 bits, and UsageError for a division by 0 or an operation without a value; both
  /// with the column.
  [[nodiscard]] Size evaluate(const std::function<Size(const std::string& axis)>& value_of) const;
  /// Returns the value of a formula that may have floating-point numbers. Throws as evaluate() does, and
  /// UsageError for an operation that needs integers.
  [[nodiscard]] Number evaluate_number(const std::function<Number(const std::string& axis)>& value_of) const;

  /// Returns the axes that it reads, without duplicates, in order of appearance.
  [[nodiscard]] std::vector<std::string> axes() const;
  /// Returns the number of operations and operands: of two exact formulas, the one with fewer is simpler.
  [[nodiscard]] Size complexity() const;

  /// Returns whether the two have the same operations and operands, regardless of their columns.
  bool operator==(const Expression& other) const;

 private:
  struct Node {
    Operation operation = Operation::integer;
    unsigned column = 0;
    Size integer = 0;
    double floating = 0;
    std::string name;
    std::vector<Expression> operands;
  };
  explicit Expression(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  template <typename Value>
  [[nodiscard]] Value evaluate_as(const std::function<Value(const std::string& axis)>& value_of) const;
  template <typename Value>
  [[nodiscard]] Value compute_here(Value a, Value b) const;
  std::shared_ptr<const Node> node_;
};

/// Return the value of an operation with one or two numbers; `add` and `multiply` have two here. Throw as
/// Expression::evaluate() and evaluate_number() do.
Size compute(Expression::Operation operation, Size a, Size b = 0);
Number compute(Expression::Operation operation, Number a, Number b);

/// A term of a sum: 4 * ny * nx is 4 and {ny, nx}.
struct ExpressionTerm {
  Size coefficient = 1;
  std::vector<Expression> factors;

  /// Returns whether the two differ only in the coefficient.
  [[nodiscard]] bool is_like(const ExpressionTerm& other) const;
  [[nodiscard]] Expression expression() const;
};

/// Returns the terms of a sum; one for any other expression.
std::vector<ExpressionTerm> terms(const Expression& expression);

/// How an expression is written: `plain` as Formula reads it (except `if_zero`), `python` and `cpp` as code,
/// and `display` for tables: `4·ny·⌈nx/2⌉`.
enum class ExpressionStyle : unsigned char { plain, python, cpp, display };
std::string to_text(const Expression& expression, ExpressionStyle style = ExpressionStyle::plain);

}  // namespace peakmark
