#include "measure/sweep/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "base/error.hpp"

namespace peakmark {
namespace {

using Operation = Expression::Operation;

Size divide(Size a, Size b, bool up) {
  if (b == 0) throw UsageError(fmt::format("{} / 0 has no value", a));
  if (b == -1 && a == std::numeric_limits<Size>::min())
    throw OverflowError(fmt::format("{} / -1 does not fit 64 bits", a));
  const Size quotient = a / b;  // rounded towards 0
  if (a % b == 0) return quotient;
  const bool is_positive = (a < 0) == (b < 0);
  return is_positive ? quotient + (up ? 1 : 0) : quotient - (up ? 0 : 1);
}

Size floor_remainder(Size a, Size b) {
  if (b == 0) throw UsageError(fmt::format("{} % 0 has no value", a));
  if (b == -1) return 0;
  const Size rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Size power_of_two(Size exponent) {
  if (exponent < 0) throw UsageError(fmt::format("pow2({}) is not an integer", exponent));
  if (exponent > 62) throw OverflowError(fmt::format("pow2({}) does not fit 64 bits", exponent));
  return Size{1} << exponent;
}

Size next_power_of_two(Size x) {
  Size power = 1;
  while (power < x) power = checked_multiply(power, 2);
  return power;
}

// Returns all integers up to `max` without a prime factor above `largest_prime`, ascending.
std::vector<Size> smooth_integers(Size largest_prime, Size max) {
  constexpr std::array<Size, 6> kPrimes{2, 3, 5, 7, 11, 13};
  std::vector<Size> numbers{1};
  for (const Size prime : kPrimes) {
    if (prime > largest_prime) break;
    // The loop also visits elements that it adds, so that every power of the prime is reached.
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] <= max / prime) numbers.push_back(numbers[i] * prime);
    }
  }
  std::ranges::sort(numbers);
  return numbers;
}

Size next_smooth(Size length, Size largest_prime) {
  // There are 600,000 such integers up to 2^62; few programs need more than the thousands up to 2^32.
  constexpr std::array<Size, 2> kMaxima{Size{1} << 32, Size{1} << 62};
  constexpr Size kMaxPrime = 13;
  if (largest_prime < 2 || largest_prime > kMaxPrime)
    throw UsageError(
        fmt::format("next_smooth(…, {}): the largest prime is 2 to {}", largest_prime, kMaxPrime));
  if (length > kMaxima.back())
    throw OverflowError(fmt::format("next_smooth({}) does not fit 64 bits", length));
  struct List {
    std::once_flag is_made;
    std::vector<Size> integers;
  };
  static std::array<std::array<List, kMaxima.size()>, kMaxPrime + 1> lists;
  const std::size_t size = length <= kMaxima.front() ? 0 : 1;
  List& list = lists.at(static_cast<std::size_t>(largest_prime)).at(size);
  std::call_once(list.is_made, [&] { list.integers = smooth_integers(largest_prime, kMaxima.at(size)); });
  return *std::ranges::lower_bound(list.integers, length);
}

}  // namespace

Expression::Expression(Size integer)
    : node_(std::make_shared<Node>(Node{Operation::integer, 0, integer, 0, {}, {}})) {}

Expression Expression::floating(double number) {
  return Expression(std::make_shared<Node>(Node{Operation::floating, 0, 0, number, {}, {}}));
}

Expression Expression::axis(std::string name) {
  return Expression(std::make_shared<Node>(Node{Operation::axis, 0, 0, 0, std::move(name), {}}));
}

namespace {

ExpressionTerm single_term(const Expression& term) {
  if (term.operation() == Operation::integer) return {term.integer(), {}};
  if (term.operation() != Operation::multiply) return {1, {term}};
  ExpressionTerm part{1, term.operands()};
  if (part.factors.front().operation() == Operation::integer) {
    part.coefficient = part.factors.front().integer();
    part.factors.erase(part.factors.begin());
  }
  return part;
}

std::vector<Expression> collected(std::vector<Expression> terms) {
  std::vector<ExpressionTerm> parts;
  bool has_like_terms = false;
  for (const Expression& term : terms) {
    ExpressionTerm part = single_term(term);
    const auto like = std::ranges::find_if(parts, [&](const auto& one) { return one.is_like(part); });
    if (like == parts.end()) {
      parts.push_back(std::move(part));
    } else {
      like->coefficient = checked_add(like->coefficient, part.coefficient);
      has_like_terms = true;
    }
  }
  if (!has_like_terms) return terms;
  terms.clear();
  for (const ExpressionTerm& part : parts) {
    if (part.coefficient != 0) terms.push_back(part.expression());
  }
  return terms;
}

}  // namespace

bool ExpressionTerm::is_like(const ExpressionTerm& other) const {
  return factors.size() == other.factors.size() &&
         std::is_permutation(factors.begin(), factors.end(), other.factors.begin());
}

Expression ExpressionTerm::expression() const {
  std::vector<Expression> operands{Expression(coefficient)};
  operands.insert(operands.end(), factors.begin(), factors.end());
  return Expression::multiply(std::move(operands));
}

std::vector<ExpressionTerm> terms(const Expression& expression) {
  if (expression.operation() != Operation::add) return {single_term(expression)};
  std::vector<ExpressionTerm> all;
  for (const Expression& term : expression.operands()) all.push_back(single_term(term));
  return all;
}

Expression Expression::add(std::vector<Expression> operands) {
  std::vector<Expression> terms;
  Size constant = 0;
  const std::function<void(const Expression&)> take = [&](const Expression& operand) {
    if (operand.operation() == Operation::integer) {
      constant = checked_add(constant, operand.integer());
    } else if (operand.operation() == Operation::add) {
      for (const Expression& inner : operand.operands()) take(inner);
    } else {
      terms.push_back(operand);
    }
  };
  for (const Expression& operand : operands) take(operand);
  terms = collected(std::move(terms));
  if (constant != 0 || terms.empty()) terms.emplace_back(constant);
  if (terms.size() == 1) return terms.front();
  return apply(Operation::add, std::move(terms));
}

Expression Expression::multiply(std::vector<Expression> operands) {
  std::vector<Expression> factors;
  Size constant = 1;
  for (const Expression& operand : operands) {
    if (operand.operation() == Operation::integer) {
      constant = checked_multiply(constant, operand.integer());
    } else if (operand.operation() == Operation::multiply) {
      for (const Expression& inner : operand.operands()) {
        if (inner.operation() == Operation::integer) {
          constant = checked_multiply(constant, inner.integer());
        } else {
          factors.push_back(inner);
        }
      }
    } else {
      factors.push_back(operand);
    }
  }
  if (constant == 0 || factors.empty()) return Expression(constant);
  if (constant != 1) factors.insert(factors.begin(), Expression(constant));
  if (factors.size() == 1) return factors.front();
  return apply(Operation::multiply, std::move(factors));
}

Expression Expression::apply(Operation operation, std::vector<Expression> operands, unsigned column) {
  return Expression(std::make_shared<Node>(Node{operation, column, 0, 0, {}, std::move(operands)}));
}

Size compute(Operation operation, Size a, Size b) {
  switch (operation) {
    case Operation::add:
      return checked_add(a, b);
    case Operation::subtract:
      return checked_subtract(a, b);
    case Operation::multiply:
      return checked_multiply(a, b);
    case Operation::divide_down:
      return divide(a, b, false);
    case Operation::divide_up:
      return divide(a, b, true);
    case Operation::remainder:
      return floor_remainder(a, b);
    case Operation::pow2:
      return power_of_two(a);
    case Operation::next_pow2:
      return next_power_of_two(a);
    case Operation::next_smooth:
      return next_smooth(a, b);
    case Operation::min:
      return std::min(a, b);
    case Operation::max:
      return std::max(a, b);
    case Operation::ceil:
    case Operation::floor:
    case Operation::round:
      return a;
    case Operation::integer:
    case Operation::floating:
    case Operation::axis:
    case Operation::if_zero:
      break;
  }
  throw std::logic_error("an operation of one or two numbers is computed");
}

namespace {

double as_double(const Number& number) {
  const double* const floating = std::get_if<double>(&number);
  return floating != nullptr ? *floating : static_cast<double>(std::get<Size>(number));
}

Size as_integer(double whole) {
  constexpr double kEnd = 0x1p63;  // the smallest double above all integers of 64 bits
  if (whole >= -kEnd && whole < kEnd) return static_cast<Size>(whole);
  throw OverflowError(fmt::format("{} does not fit 64 bits", whole));
}

double compute_double(Operation operation, double a, double b) {
  switch (operation) {
    case Operation::add:
      return a + b;
    case Operation::subtract:
      return a - b;
    case Operation::multiply:
      return a * b;
    case Operation::divide_down:
      if (b == 0) throw UsageError(fmt::format("{} / 0 has no value", float_text(a)));
      return a / b;
    case Operation::min:
      return std::min(a, b);
    case Operation::max:
      return std::max(a, b);
    default:
      throw UsageError("this operation needs integers: write ceil(…), floor(…) or round(…) in it");
  }
}

}  // namespace

Number compute(Operation operation, Number a, Number b) {
  if (std::holds_alternative<Size>(a) && std::holds_alternative<Size>(b))
    return compute(operation, std::get<Size>(a), std::get<Size>(b));
  if (operation == Operation::ceil) return as_integer(std::ceil(as_double(a)));
  if (operation == Operation::floor) return as_integer(std::floor(as_double(a)));
  if (operation == Operation::round) return as_integer(std::round(as_double(a)));
  const double value = compute_double(operation, as_double(a), as_double(b));
  if (!std::isfinite(value)) throw OverflowError("the value does not fit a floating-point number");
  return value;
}

template <typename Value>
Value Expression::evaluate_as(const std::function<Value(const std::string& axis)>& value_of) const {
  switch (operation()) {
    case Operation::integer:
      return integer();
    case Operation::floating:
      if constexpr (std::is_same_v<Value, Number>) return floating();
      throw std::logic_error("a formula of integers has a floating-point number");
    case Operation::axis:
      return value_of(name());
    case Operation::if_zero: {
      const bool is_zero = operands()[0].evaluate_as<Value>(value_of) == Value(Size{0});
      return operands()[is_zero ? 1 : 2].evaluate_as<Value>(value_of);
    }
    default:
      break;
  }
  Value value = operands().front().evaluate_as<Value>(value_of);
  if (operands().size() == 1) return compute_here<Value>(value, Size{0});
  for (std::size_t i = 1; i < operands().size(); ++i)
    value = compute_here<Value>(value, operands()[i].evaluate_as<Value>(value_of));
  return value;
}

Size Expression::evaluate(const std::function<Size(const std::string& axis)>& value_of) const {
  return evaluate_as<Size>(value_of);
}

Number Expression::evaluate_number(const std::function<Number(const std::string& axis)>& value_of) const {
  return evaluate_as<Number>(value_of);
}

// Computes the operation of this node. An error in a user's text has the column.
template <typename Value>
Value Expression::compute_here(Value a, Value b) const {
  const auto place = [&](const Error& error) {
    return fmt::format("column {}: {}", node_->column, error.what());
  };
  try {
    return compute(operation(), a, b);
  } catch (const OverflowError& error) {
    if (node_->column == 0) throw;
    throw OverflowError(place(error));
  } catch (const UsageError& error) {
    if (node_->column == 0) throw;
    throw UsageError(place(error));
  }
}

std::vector<std::string> Expression::axes() const {
  std::vector<std::string> found;
  const std::function<void(const Expression&)> visit = [&](const Expression& expression) {
    if (expression.operation() == Operation::axis &&
        std::ranges::find(found, expression.name()) == found.end())
      found.push_back(expression.name());
    for (const Expression& operand : expression.operands()) visit(operand);
  };
  visit(*this);
  return found;
}

Size Expression::complexity() const {
  Size sum = 1;
  for (const Expression& operand : operands()) sum += operand.complexity();
  return sum;
}

bool Expression::operator==(const Expression& other) const {
  return node_ == other.node_ ||
         (operation() == other.operation() && integer() == other.integer() &&
          floating() == other.floating() && name() == other.name() && operands() == other.operands());
}

namespace {

bool is_negative(const Expression& term) {
  const Expression& first = term.operation() == Operation::multiply ? term.operands()[0] : term;
  return first.operation() == Operation::integer && first.integer() < 0;
}

Expression negated(const Expression& term) {
  return Expression::multiply({Expression(Size{-1}), term});
}

// Returns the sum in a negative product that can take its sign: 4·(1 - a) for -4·(a - 1). Null if no term of
// a sum would become positive.
const Expression* sum_with_sign(const Expression& product) {
  if (!is_negative(product)) return nullptr;
  const auto sum = std::ranges::find_if(product.operands(), [](const Expression& factor) {
    return factor.operation() == Operation::add && std::ranges::any_of(factor.operands(), is_negative);
  });
  return sum == product.operands().end() ? nullptr : &*sum;
}

// Returns the terms of the sum with the opposite sign, the positive ones first.
std::vector<Expression> negated_terms(const Expression& sum) {
  std::vector<Expression> terms;
  terms.reserve(sum.operands().size());
  for (const Expression& term : sum.operands()) terms.push_back(negated(term));
  std::stable_partition(terms.begin(), terms.end(),
                        [](const Expression& term) { return !is_negative(term); });
  return terms;
}

// How tightly an operation binds: an operand that binds less tightly than its place requires gets
// parentheses.
enum class Binding : unsigned char { sum, product, single };

class Writer {
 public:
  explicit Writer(ExpressionStyle style) : style_(style) {}

  std::string write(const Expression& expression, Binding place) const {
    switch (expression.operation()) {
      case Operation::integer:
        return expression.integer() < 0
                   ? parentheses(std::to_string(expression.integer()), place != Binding::sum)
                   : std::to_string(expression.integer());
      case Operation::floating:
        return float_text(expression.floating());  // not below 0: a minus is an operation
      case Operation::axis:
        return expression.name();
      case Operation::add:
        return parentheses(sum(expression.operands()), place != Binding::sum);
      case Operation::subtract:
        return parentheses(write(expression.operands()[0], Binding::sum) + " - " +
                               write(expression.operands()[1], Binding::product),
                           place != Binding::sum);
      case Operation::multiply:
        if (const Expression* const sum_of_sign = sum_with_sign(expression);
            sum_of_sign != nullptr && expression.operands().size() == 2 &&
            expression.operands()[0].is_integer(-1))
          return parentheses(sum(negated_terms(*sum_of_sign)), place != Binding::sum);
        return parentheses(product(expression), place == Binding::single);
      case Operation::divide_down:
      case Operation::divide_up:
        return quotient(expression, place);
      case Operation::remainder:
        return parentheses(write(expression.operands()[0], Binding::single) +
                               (style_ == ExpressionStyle::display ? " mod " : " % ") +
                               write(expression.operands()[1], Binding::single),
                           place != Binding::sum);
      case Operation::pow2:
        return call("pow2", expression);
      case Operation::next_pow2:
        return call("next_pow2", expression);
      case Operation::next_smooth:
        return call("next_smooth", expression);
      case Operation::min:
        return call(style_ == ExpressionStyle::cpp ? "std::min<Checked>" : "min", expression);
      case Operation::max:
        return call(style_ == ExpressionStyle::cpp ? "std::max<Checked>" : "max", expression);
      case Operation::if_zero:
        return choice(expression);
      case Operation::ceil:
        return call("ceil", expression);
      case Operation::floor:
        return call("floor", expression);
      case Operation::round:
        return call("round", expression);
    }
    return {};
  }

 private:
  static std::string parentheses(std::string text, bool needed) { return needed ? "(" + text + ")" : text; }
  [[nodiscard]] std::string sum(const std::vector<Expression>& terms) const {
    std::string text;
    for (const Expression& term : terms) {
      const bool has_minus = is_negative(term);
      const std::string part = write(has_minus ? negated(term) : term, Binding::product);
      if (text.empty()) {
        text = has_minus ? "-" + part : part;
      } else {
        text += (has_minus ? " - " : " + ") + part;
      }
    }
    return text;
  }
  [[nodiscard]] std::string product(const Expression& expression) const {
    const std::string_view between = style_ == ExpressionStyle::display ? "·" : " * ";
    const Expression* const sum_of_sign = sum_with_sign(expression);
    std::string text;
    for (const Expression& factor : expression.operands()) {
      const bool is_sign = sum_of_sign != nullptr && &factor == &expression.operands().front();
      if (is_sign && factor.is_integer(-1)) continue;
      if (!text.empty()) text += between;
      if (&factor == sum_of_sign) {
        text += parentheses(sum(negated_terms(factor)), true);
      } else {
        text += write(is_sign ? negated(factor) : factor, text.empty() ? Binding::product : Binding::single);
      }
    }
    return text;
  }
  [[nodiscard]] std::string quotient(const Expression& expression, Binding place) const {
    const bool up = expression.operation() == Operation::divide_up;
    const Expression& above = expression.operands()[0];
    const Expression& below = expression.operands()[1];
    switch (style_) {
      case ExpressionStyle::display:
        return fmt::format("{}{}/{}{}", up ? "⌈" : "⌊", write(above, Binding::product),
                           write(below, Binding::single), up ? "⌉" : "⌋");
      case ExpressionStyle::python: {
        // The minus signs reverse the rounding: -(-a // b) rounds up.
        const std::string text =
            up ? fmt::format("-(-{} // {})", write(above, Binding::single), write(below, Binding::single))
               : fmt::format("{} // {}", write(above, Binding::product), write(below, Binding::single));
        return parentheses(text, place != Binding::sum);
      }
      case ExpressionStyle::cpp:
      case ExpressionStyle::plain:
        if (up) return call("ceil_div", expression);
        return parentheses(
            fmt::format("{} / {}", write(above, Binding::single), write(below, Binding::single)),
            place != Binding::sum);
    }
    return {};
  }
  [[nodiscard]] std::string choice(const Expression& expression) const {
    const std::string axis = write(expression.operands()[0], Binding::single);
    const std::string zero = write(expression.operands()[1], Binding::sum);
    const std::string other = write(expression.operands()[2], Binding::sum);
    switch (style_) {
      case ExpressionStyle::plain:
        return call("if_zero", expression);
      case ExpressionStyle::python:
        return fmt::format("({} if {} == 0 else {})", zero, axis, other);
      case ExpressionStyle::cpp:
        return fmt::format("({} == 0 ? Checked({}) : Checked({}))", axis, zero, other);
      case ExpressionStyle::display:
        return fmt::format("({} = 0: {}, else {})", axis, zero, other);
    }
    return {};
  }
  [[nodiscard]] std::string call(std::string_view function, const Expression& expression) const {
    std::vector<std::string> arguments;
    for (const Expression& operand : expression.operands()) arguments.push_back(write(operand, Binding::sum));
    return fmt::format("{}({})", function, fmt::join(arguments, ", "));
  }

  ExpressionStyle style_;
};

}  // namespace

std::string to_text(const Expression& expression, ExpressionStyle style) {
  return Writer(style).write(expression, Binding::sum);
}

}  // namespace peakmark
