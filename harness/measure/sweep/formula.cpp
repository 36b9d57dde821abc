#include "measure/sweep/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark {
namespace {

using Operation = Expression::Operation;

// The parser recurses for each parenthesis, and an expression for each operation in a row: these limits
// protect the stack.
constexpr int kMaxDepth = 100;
constexpr int kMaxOperationsInRow = 2000;

std::string at(const std::string& text, std::size_t column, std::string_view what) {
  return fmt::format("formula '{}', column {}: {}", text, column, what);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Expression parse() {
    Part all = sum();
    if (next() != '\0' || position_ < text_.size()) fail("an operator is missing");
    return std::move(all.expression);
  }

 private:
  struct Part {
    Expression expression;
    int depth = 0;  // number of nested operations
  };

  Part sum() {
    if (++depth_ > kMaxDepth) fail("nested too deeply");
    Part value = product();
    for (char c = next(); c == '+' || c == '-'; c = next()) {
      const std::size_t column = take();
      value = apply(c == '+' ? Operation::add : Operation::subtract, column, {value, product()});
    }
    --depth_;
    return value;
  }

  Part product() {
    Part value = factor();
    for (char c = next(); c == '*' || c == '/' || c == '%'; c = next()) {
      const std::size_t column = take();
      const Operation operation = c == '*'   ? Operation::multiply
                                  : c == '/' ? Operation::divide_down
                                             : Operation::remainder;
      value = apply(operation, column, {value, factor()});
    }
    return value;
  }

  Part factor() {
    std::vector<std::size_t> minuses;
    while (next() == '-') minuses.push_back(take());
    Part value = operand();
    for (auto column = minuses.rbegin(); column != minuses.rend(); ++column)
      value = apply(Operation::subtract, *column, {Part{}, value});
    return value;
  }

  Part operand() {
    const char c = next();
    if (is_digit(c)) return number();
    if (starts_name(c)) return name();
    if (c != '(')
      fail(c == '\0' ? "unexpected end: a number or an axis is missing" : "expected a number or an axis");
    take();
    Part value = sum();
    close();
    return value;
  }

  // Reads `4096`, `0.5` or `1e-3`.
  Part number() {
    const char* const begin = text_.data() + position_;
    const char* const text_end = text_.data() + text_.size();
    Size integer = 0;
    double floating = 0;
    auto [end, error] = std::from_chars(begin, text_end, integer);
    const bool is_integer = end == text_end || (*end != '.' && *end != 'e' && *end != 'E');
    if (!is_integer) std::tie(end, error) = read_floating(begin, text_end, floating);
    if (error == std::errc::result_out_of_range) {
      throw OverflowError(at(text_, position_ + 1, "the number does not fit 64 bits"));
    }
    if (end != text_end && (*end == '.' || starts_name(*end))) fail("not a number");
    position_ += static_cast<std::size_t>(end - begin);
    return {is_integer ? Expression(integer) : Expression::floating(floating)};
  }

  static std::pair<const char*, std::errc> read_floating(const char* begin, const char* end, double& value) {
    const auto read = std::from_chars(begin, end, value);
    return {read.ptr, read.ec};
  }

  Part name() {
    const std::size_t begin = position_;
    while (position_ < text_.size() && (starts_name(text_[position_]) || is_digit(text_[position_])))
      ++position_;
    std::string word = text_.substr(begin, position_ - begin);
    if (next() == '(') return function(word, begin);
    return {Expression::axis(std::move(word))};
  }

  Part function(const std::string& word, std::size_t begin) {
    struct Function {
      std::string_view name;
      Operation operation;
      int values;  // 0: any number
    };
    static constexpr std::array<Function, 9> kFunctions{{{"min", Operation::min, 0},
                                                         {"max", Operation::max, 0},
                                                         {"ceil_div", Operation::divide_up, 2},
                                                         {"pow2", Operation::pow2, 1},
                                                         {"next_pow2", Operation::next_pow2, 1},
                                                         {"next_smooth", Operation::next_smooth, 2},
                                                         {"ceil", Operation::ceil, 1},
                                                         {"floor", Operation::floor, 1},
                                                         {"round", Operation::round, 1}}};
    const auto* const found = std::ranges::find(kFunctions, word, &Function::name);
    if (found == kFunctions.end()) {
      std::vector<std::string> names;
      names.reserve(kFunctions.size());
      for (const Function& one : kFunctions) names.emplace_back(one.name);
      position_ = begin;
      fail(fmt::format("unknown function '{}'{}", word, suggest_word(word, names)));
    }
    take();
    Part value = sum();
    int values = 1;
    for (; next() == ','; ++values) {
      if (found->values == 1) fail(fmt::format("{} takes one value", word));
      if (values == found->values) fail(fmt::format("{} takes two values", word));
      take();
      value = apply(found->operation, begin + 1, {value, sum()});
    }
    if (found->values == 2 && values == 1) fail(fmt::format("{} takes two values", word));
    close();
    return found->values == 1 ? apply(found->operation, begin + 1, {value}) : value;
  }

  [[nodiscard]] Part apply(Operation operation, std::size_t column, std::initializer_list<Part> parts) const {
    int depth = 0;
    std::vector<Expression> operands;
    for (const Part& part : parts) {
      depth = std::max(depth, part.depth + 1);
      operands.push_back(part.expression);
    }
    if (depth > kMaxOperationsInRow)
      throw UsageError(
          at(text_, column, fmt::format("more than {} operations in a row", kMaxOperationsInRow)));
    return {Expression::apply(operation, std::move(operands), static_cast<unsigned>(column)), depth};
  }

  void close() {
    if (next() != ')') fail("')' is missing");
    take();
  }

  // Returns '\0' at the end. A zero byte in the text is an error like other characters.
  char next() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) ++position_;
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  std::size_t take() { return ++position_; }

  [[noreturn]] void fail(std::string_view what) const { throw UsageError(at(text_, position_ + 1, what)); }

  const std::string& text_;
  std::size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

Formula::Formula(std::string text)
    : text_(std::move(text)), expression_(Parser(text_).parse()), axes_(expression_.axes()) {}

Size Formula::evaluate_integer(const std::function<Number(const std::string& axis)>& value_of) const {
  const Number value = evaluate(value_of);
  if (const Size* const integer = std::get_if<Size>(&value)) return *integer;
  throw UsageError(fmt::format("formula '{}' is {}, not an integer: write ceil(…), floor(…) or round(…)",
                               text_, float_text(std::get<double>(value))));
}

Number Formula::evaluate(const std::function<Number(const std::string& axis)>& value_of) const {
  // Before the arithmetic, because an error of `value_of` has no column.
  std::vector<Number> values;
  values.reserve(axes_.size());
  for (const std::string& axis : axes_) values.push_back(value_of(axis));
  const auto known = [&](const std::string& axis) {
    return values[static_cast<std::size_t>(std::ranges::find(axes_, axis) - axes_.begin())];
  };
  try {
    return expression_.evaluate_number(known);
  } catch (const OverflowError& error) {
    throw OverflowError(fmt::format("formula '{}', {}", text_, error.what()));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("formula '{}', {}", text_, error.what()));
  }
}

}  // namespace peakmark
