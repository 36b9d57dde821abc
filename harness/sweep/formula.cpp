#include "sweep/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <mutex>

#include "base/error.hpp"
#include "sweep/nearest_word.hpp"

namespace peakmark {
namespace {

using Operation = Formula::Operation;
using Step = Formula::Step;

// The parser recurses for each parenthesis: a limit protects the stack.
constexpr int kMaxDepth = 100;

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
  Parser(const std::string& text, std::vector<std::string>& axes, std::vector<Step>& steps)
      : text_(text), axes_(axes), steps_(steps) {}

  void parse() {
    sum();
    if (next() != '\0' || position_ < text_.size()) fail("an operator is missing");
  }

 private:
  void sum() {
    if (++depth_ > kMaxDepth) fail("nested too deeply");
    product();
    for (char c = next(); c == '+' || c == '-'; c = next()) {
      const std::size_t column = take();
      product();
      steps_.push_back({c == '+' ? Operation::add : Operation::subtract, column});
    }
    --depth_;
  }

  void product() {
    factor();
    for (char c = next(); c == '*' || c == '/' || c == '%'; c = next()) {
      const std::size_t column = take();
      factor();
      steps_.push_back({c == '*'   ? Operation::multiply
                        : c == '/' ? Operation::divide
                                   : Operation::remainder,
                        column});
    }
  }

  void factor() {
    std::vector<std::size_t> minuses;
    while (next() == '-') minuses.push_back(take());
    const char c = next();
    if (c == '(') {
      take();
      sum();
      close();
    } else if (is_digit(c)) {
      integer();
    } else if (starts_name(c)) {
      name();
    } else {
      fail(c == '\0' ? "unexpected end: a number or an axis is missing" : "expected a number or an axis");
    }
    for (auto column = minuses.rbegin(); column != minuses.rend(); ++column) {
      steps_.push_back({Operation::negate, *column});
    }
  }

  void integer() {
    Size value = 0;
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) {
      throw OverflowError(at(text_, position_ + 1, "the number does not fit 64 bits"));
    }
    if (end != text_.data() + text_.size() && (*end == '.' || starts_name(*end))) fail("not an integer");
    steps_.push_back({Operation::integer, position_ + 1, value});
    position_ += static_cast<std::size_t>(end - begin);
  }

  void name() {
    const std::size_t begin = position_;
    while (position_ < text_.size() && (starts_name(text_[position_]) || is_digit(text_[position_])))
      ++position_;
    const std::string word = text_.substr(begin, position_ - begin);
    if (next() == '(') {
      function(word, begin);
      return;
    }
    auto found = std::ranges::find(axes_, word);
    if (found == axes_.end()) found = axes_.insert(axes_.end(), word);
    steps_.push_back({Operation::axis, begin + 1, static_cast<Size>(found - axes_.begin())});
  }

  void function(const std::string& word, std::size_t begin) {
    struct Function {
      std::string_view name;
      Operation operation;
      int values;  // 0: any number
    };
    static constexpr std::array<Function, 6> kFunctions{{{"min", Operation::min, 0},
                                                         {"max", Operation::max, 0},
                                                         {"ceil_div", Operation::ceil_divide, 2},
                                                         {"pow2", Operation::pow2, 1},
                                                         {"next_pow2", Operation::next_pow2, 1},
                                                         {"next_smooth", Operation::next_smooth, 2}}};
    const auto* const found = std::ranges::find(kFunctions, word, &Function::name);
    if (found == kFunctions.end()) {
      std::vector<std::string> names;
      names.reserve(kFunctions.size());
      for (const Function& one : kFunctions) names.emplace_back(one.name);
      position_ = begin;
      fail(fmt::format("unknown function '{}'{}", word, suggest_word(word, names)));
    }
    take();
    sum();
    int values = 1;
    for (; next() == ','; ++values) {
      if (found->values == 1) fail(fmt::format("{} takes one value", word));
      if (values == found->values) fail(fmt::format("{} takes two values", word));
      take();
      sum();
      steps_.push_back({found->operation, begin + 1});
    }
    if (found->values == 2 && values == 1) fail(fmt::format("{} takes two values", word));
    if (found->values == 1) steps_.push_back({found->operation, begin + 1});
    close();
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
  std::vector<std::string>& axes_;
  std::vector<Step>& steps_;
  std::size_t position_ = 0;
  int depth_ = 0;
};

constexpr Size kMinSize = std::numeric_limits<Size>::min();

Size floor_remainder(Size a, Size b) {
  if (b == 0) throw UsageError(fmt::format("{} % 0 has no value", a));
  if (b == -1) return 0;
  const Size remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

Size power_of_two(Size exponent) {
  if (exponent < 0) throw UsageError(fmt::format("pow2({}) is not an integer", exponent));
  if (exponent > 62) throw OverflowError(fmt::format("pow2({}) does not fit 64 bits", exponent));
  return Size{1} << exponent;
}

Size apply(Operation operation, Size a, Size b) {
  switch (operation) {
    case Operation::add:
      return checked_add(a, b);
    case Operation::subtract:
      return checked_subtract(a, b);
    case Operation::multiply:
      return checked_multiply(a, b);
    case Operation::divide:
      return floor_divide(a, b);
    case Operation::remainder:
      return floor_remainder(a, b);
    case Operation::min:
      return std::min(a, b);
    case Operation::ceil_divide:
      return ceil_divide(a, b);
    case Operation::next_smooth:
      return next_smooth(a, b);
    default:
      return std::max(a, b);
  }
}

Size apply(Operation operation, Size a) {
  switch (operation) {
    case Operation::negate:
      return checked_subtract(0, a);
    case Operation::pow2:
      return power_of_two(a);
    default:
      return next_power_of_two(a);
  }
}

bool takes_one(Operation operation) {
  return operation == Operation::negate || operation == Operation::pow2 || operation == Operation::next_pow2;
}

// All integers up to `max` without a prime factor above `largest_prime`, ascending.
std::vector<Size> smooth_integers(Size largest_prime, Size max) {
  constexpr std::array<Size, 6> kPrimes{2, 3, 5, 7, 11, 13};
  std::vector<Size> numbers{1};
  for (const Size prime : kPrimes) {
    if (prime > largest_prime) break;
    // Elements that are added are visited as well, so that every power of the prime is reached.
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] <= max / prime) numbers.push_back(numbers[i] * prime);
    }
  }
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace

Size floor_divide(Size a, Size b) {
  if (b == 0) throw UsageError(fmt::format("{} / 0 has no value", a));
  if (a == kMinSize && b == -1) throw OverflowError(fmt::format("{} / -1 does not fit 64 bits", a));
  const Size quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Size ceil_divide(Size a, Size b) {
  const Size quotient = floor_divide(a, b);
  return a % b == 0 ? quotient : quotient + 1;
}

Size next_power_of_two(Size x) {
  Size power = 1;
  while (power < x) power = checked_multiply(power, 2);
  return power;
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

Formula::Formula(std::string text) : text_(std::move(text)) {
  Parser(text_, axes_, steps_).parse();
}

Size Formula::evaluate(const std::function<Size(const std::string& axis)>& value_of) const {
  std::vector<Size> stack;
  for (const Step& step : steps_) {
    if (step.operation == Operation::integer) {
      stack.push_back(step.operand);
    } else if (step.operation == Operation::axis) {
      stack.push_back(value_of(axes_[static_cast<std::size_t>(step.operand)]));
    } else {
      try {
        const Size last = stack.back();
        stack.pop_back();
        if (takes_one(step.operation)) {
          stack.push_back(apply(step.operation, last));
        } else {
          stack.back() = apply(step.operation, stack.back(), last);
        }
      } catch (const OverflowError& error) {
        throw OverflowError(at(text_, step.column, error.what()));
      } catch (const UsageError& error) {
        throw UsageError(at(text_, step.column, error.what()));
      }
    }
  }
  return stack.back();
}

}  // namespace peakmark
