#include "analyse/explain/search/formula_algebra.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace peakmark {
namespace {

using Operation = Expression::Operation;
using IsExact = std::function<bool(const Expression& dividend, Size divisor)>;

// Drops divisions from a product: k · ⌈x / k⌉ is x if x is a multiple of k.
Expression without_divisions(std::vector<Expression> factors, const IsExact& is_exact) {
  for (std::size_t i = 1; i < factors.size() && factors[0].operation() == Operation::integer; ++i) {
    const Operation operation = factors[i].operation();
    if (operation != Operation::divide_up && operation != Operation::divide_down) continue;
    const Expression dividend = factors[i].operands()[0];
    const Expression& divisor = factors[i].operands()[1];
    if (divisor.operation() != Operation::integer || factors[0].integer() % divisor.integer() != 0 ||
        !is_exact(dividend, divisor.integer()))
      continue;
    factors[0] = Expression(factors[0].integer() / divisor.integer());
    factors[i] = dividend;
  }
  return Expression::multiply(std::move(factors));
}

Expression rebuilt(Operation operation, std::vector<Expression> operands, const IsExact& is_exact) {
  switch (operation) {
    case Operation::add:
      return Expression::add(std::move(operands));
    case Operation::multiply:
      return without_divisions(std::move(operands), is_exact);
    default:
      return Expression::apply(operation, std::move(operands));
  }
}

}  // namespace

std::vector<Expression> parts(const Expression& formula) {
  std::vector<Expression> all{formula};
  for (const Expression& operand : formula.operands()) {
    const std::vector<Expression> more = parts(operand);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

Expression replaced(const Expression& formula, const std::vector<Replacement>& replacements) {
  for (const auto& [part, other] : replacements) {
    if (formula == part) return other;
  }
  if (formula.operands().empty()) return formula;
  std::vector<Expression> operands;
  for (const Expression& operand : formula.operands()) operands.push_back(replaced(operand, replacements));
  if (formula.operation() == Operation::add) return Expression::add(std::move(operands));
  if (formula.operation() == Operation::multiply) return Expression::multiply(std::move(operands));
  return Expression::apply(formula.operation(), std::move(operands));
}

Expression without_exact_divisions(const Expression& formula, const IsExact& is_exact) {
  if (formula.operands().empty()) return formula;
  std::vector<Expression> operands;
  for (const Expression& operand : formula.operands())
    operands.push_back(without_exact_divisions(operand, is_exact));
  return rebuilt(formula.operation(), std::move(operands), is_exact);
}

Expression without_rounding(const Expression& formula) {
  if (formula.operands().empty()) return formula;
  std::vector<Expression> operands;
  for (const Expression& operand : formula.operands()) operands.push_back(without_rounding(operand));
  if (formula.operation() == Operation::next_pow2 || formula.operation() == Operation::next_smooth)
    return operands.front();
  return rebuilt(formula.operation(), std::move(operands),
                 [](const Expression& /*dividend*/, Size /*divisor*/) { return true; });
}

std::pair<Expression, Expression> without_common_parts(const Expression& one, const Expression& other) {
  std::vector<ExpressionTerm> rest = terms(one);
  for (ExpressionTerm& term : terms(other)) {
    const auto like = std::ranges::find_if(rest, [&](const auto& mine) { return mine.is_like(term); });
    if (like != rest.end()) {
      like->coefficient -= term.coefficient;
    } else {
      term.coefficient = -term.coefficient;
      rest.push_back(std::move(term));
    }
  }
  std::erase_if(rest, [](const ExpressionTerm& term) { return term.coefficient == 0; });
  if (rest.empty()) return {};
  Size divisor = 0;
  for (const ExpressionTerm& term : rest) divisor = std::gcd(divisor, term.coefficient);
  std::vector<Expression> common = rest.front().factors;
  for (const ExpressionTerm& term : rest) {
    std::vector<Expression> left = term.factors;
    std::erase_if(common, [&](const Expression& factor) {
      const auto found = std::ranges::find(left, factor);
      if (found == left.end()) return true;
      left.erase(found);
      return false;
    });
  }
  std::vector<Expression> positive;
  std::vector<Expression> negative;
  for (ExpressionTerm& term : rest) {
    for (const Expression& factor : common) term.factors.erase(std::ranges::find(term.factors, factor));
    auto& side = term.coefficient > 0 ? positive : negative;
    term.coefficient = std::abs(term.coefficient) / divisor;
    side.push_back(term.expression());
  }
  return {Expression::add(std::move(positive)), Expression::add(std::move(negative))};
}

namespace {

using Exponents = std::vector<int>;

// With more variables than this there are too many ways to split them.
constexpr std::size_t kMaxSplitVariables = 10;

Expression product(const Exponents& exponents, Size coefficient, const std::vector<Expression>& variables) {
  std::vector<Expression> factors{Expression(coefficient)};
  for (std::size_t v = 0; v < variables.size(); ++v) {
    for (int power = 0; power < exponents[v]; ++power) factors.push_back(variables[v]);
  }
  return Expression::multiply(std::move(factors));
}

// Returns whether a · d == b · c, without overflow.
bool proportional(Size a, Size b, Size c, Size d) {
  __extension__ using Wide = __int128;
  return static_cast<Wide>(a) * d == static_cast<Wide>(b) * c;
}

struct Split {
  Polynomial first;
  Polynomial second;
};

// P(x, y) = A(x)·B(y) if the matrix of coefficients, with monomials of x as rows and of y as columns, has
// rank 1.
std::optional<Split> split(const Polynomial& polynomial, const std::vector<bool>& in_first) {
  std::map<Exponents, std::map<Exponents, Size>> rows;
  for (const auto& [exponents, coefficient] : polynomial) {
    Exponents first = exponents;
    Exponents second = exponents;
    for (std::size_t v = 0; v < exponents.size(); ++v) (in_first[v] ? second : first)[v] = 0;
    rows[first][second] = coefficient;
  }
  const auto& [reference_monomial, reference] = *rows.begin();
  Size content = 0;
  for (const auto& [monomial, coefficient] : reference) content = std::gcd(content, coefficient);
  Split parts;
  for (const auto& [monomial, coefficient] : reference) parts.second[monomial] = coefficient / content;
  for (const auto& [row_monomial, row] : rows) {
    if (row.size() != reference.size()) return std::nullopt;
    const Size scale = row.begin()->second;
    const Size base = reference.begin()->second;
    auto other = reference.begin();
    for (const auto& [monomial, coefficient] : row) {
      if (monomial != other->first || !proportional(coefficient, other->second, scale, base))
        return std::nullopt;
      ++other;
    }
    // row = (scale / base) · reference = (scale · content / base) · second, which is an integer.
    parts.first[row_monomial] = scale / (base / content);
  }
  return parts;
}

Expression factored_without_content(const Polynomial& polynomial, const std::vector<Expression>& variables) {
  std::vector<std::size_t> used;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    if (std::ranges::any_of(polynomial, [&](const auto& term) { return term.first[v] > 0; }))
      used.push_back(v);
  }
  if (polynomial.size() > 1 && used.size() > 1 && used.size() <= kMaxSplitVariables) {
    // Small first parts come first, so that the factors are complete; the last variable is never in the first
    // part.
    std::vector<unsigned> choices((1U << (used.size() - 1)) - 1);
    std::iota(choices.begin(), choices.end(), 1U);
    std::ranges::stable_sort(choices, {}, [](unsigned choice) { return __builtin_popcount(choice); });
    for (const unsigned choice : choices) {
      std::vector<bool> in_first(variables.size(), false);
      for (std::size_t i = 0; i + 1 < used.size(); ++i) in_first[used[i]] = (choice >> i & 1U) != 0;
      if (const auto parts = split(polynomial, in_first)) {
        return Expression::multiply({factored(parts->first, variables), factored(parts->second, variables)});
      }
    }
  }
  std::vector<Expression> terms;
  terms.reserve(polynomial.size());
  // Terms of high degree come first, as people write them.
  std::vector<std::pair<int, Expression>> by_degree;
  by_degree.reserve(polynomial.size());
  for (const auto& [exponents, coefficient] : polynomial) {
    by_degree.emplace_back(-std::accumulate(exponents.begin(), exponents.end(), 0),
                           product(exponents, coefficient, variables));
  }
  std::ranges::reverse(by_degree);
  std::ranges::stable_sort(by_degree, {}, [](const auto& entry) { return entry.first; });
  for (auto& [degree, term] : by_degree) terms.push_back(std::move(term));
  return Expression::add(std::move(terms));
}

}  // namespace

Expression factored(const Polynomial& polynomial, const std::vector<Expression>& variables) {
  if (polynomial.empty()) return Expression(Size{0});
  Size content = 0;
  Exponents common = polynomial.begin()->first;
  for (const auto& [exponents, coefficient] : polynomial) {
    content = std::gcd(content, coefficient);
    for (std::size_t v = 0; v < common.size(); ++v) common[v] = std::min(common[v], exponents[v]);
  }
  // Coefficients are not 0, so neither is their greatest common divisor. Its sign is that of the leading
  // term.
  if (polynomial.rbegin()->second < 0) content = -content;
  if (content == 0) return Expression(Size{0});
  Polynomial rest;
  for (const auto& [exponents, coefficient] : polynomial) {
    Exponents less = exponents;
    for (std::size_t v = 0; v < common.size(); ++v) less[v] -= common[v];
    rest[less] = coefficient / content;
  }
  return Expression::multiply(
      {product(common, content, variables), factored_without_content(rest, variables)});
}

namespace {

using Operation = Expression::Operation;

// Shorter lengths are as easy to read as a name.
constexpr Size kMinComplexity = 4;

bool is_length(const Expression& expression) {
  if (expression.complexity() < kMinComplexity) return false;
  switch (expression.operation()) {
    case Operation::add:
      // A sum of products is an amount of memory, not a length.
      return std::ranges::all_of(expression.operands(), [](const Expression& operand) {
        return operand.operation() != Operation::multiply || terms(operand).front().factors.size() == 1;
      });
    case Operation::next_pow2:
    case Operation::next_smooth:
      return true;
    default:
      return false;
  }
}

std::string name(const Expression& length, const std::set<std::string>& used) {
  const std::vector<std::string> axes = length.axes();
  const bool is_padded = length.operation() == Operation::add && axes.size() > 1 &&
                         std::all_of(axes.begin() + 1, axes.end(),
                                     [](const std::string& axis) { return axis.starts_with("pad"); });
  std::string wanted;
  if (is_padded && axes.front() == "ny") wanted = "Hp";
  if (is_padded && axes.front() == "nx") wanted = "Wp";
  if (!wanted.empty() && !used.contains(wanted)) return wanted;
  for (int number = 1;; ++number) {
    wanted = "L" + std::to_string(number);
    if (!used.contains(wanted)) return wanted;
  }
}

}  // namespace

std::vector<NamedLength> find_named_lengths(const std::vector<Expression>& formulas) {
  struct Counted {
    Expression length;
    int count = 0;
  };
  std::vector<Counted> counted;
  std::set<std::string> names;
  for (const Expression& formula : formulas) {
    for (const Expression& part : parts(formula)) {
      if (!is_length(part)) continue;
      const auto known = std::ranges::find(counted, part, &Counted::length);
      (known == counted.end() ? counted.emplace_back(Counted{part, 0}) : *known).count++;
    }
    for (const std::string& axis : formula.axes()) names.insert(axis);
  }
  std::erase_if(counted, [](const Counted& one) { return one.count < 2; });
  std::vector<NamedLength> lengths;
  for (const Counted& one : counted) {
    lengths.push_back({name(one.length, names), one.length});
    names.insert(lengths.back().name);
  }
  std::ranges::stable_sort(lengths, std::greater{},
                           [](const NamedLength& one) { return one.length.complexity(); });
  // A length may occur only in longer ones that have a name.
  std::set<std::string> used;
  for (const Expression& formula : formulas) {
    for (const std::string& axis : with_names(formula, lengths).axes()) used.insert(axis);
  }
  std::erase_if(lengths, [&](const NamedLength& one) { return !used.contains(one.name); });
  return lengths;
}

Expression with_names(const Expression& formula, const std::vector<NamedLength>& lengths) {
  std::vector<Replacement> names;
  names.reserve(lengths.size());
  for (const NamedLength& one : lengths) names.emplace_back(one.length, Expression::axis(one.name));
  return replaced(formula, names);
}

}  // namespace peakmark
