#include "analyse/explain/search/formula_algebra.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

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

}  // namespace peakmark
