#include "explain/formula_algebra.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace peakmark {

Expression without_rounding(const Expression& formula) {
  if (formula.operands().empty()) return formula;
  std::vector<Expression> operands;
  for (const Expression& operand : formula.operands()) operands.push_back(without_rounding(operand));
  switch (formula.operation()) {
    case Expression::Operation::add:
      return Expression::add(std::move(operands));
    case Expression::Operation::multiply: {
      // k · ⌈x / k⌉ is x.
      const Expression first = operands.front();
      for (std::size_t i = 1; i < operands.size(); ++i) {
        const Expression& factor = formula.operands()[i];
        if (first.operation() != Expression::Operation::integer ||
            (factor.operation() != Expression::Operation::divide_up &&
             factor.operation() != Expression::Operation::divide_down))
          continue;
        const Expression& divisor = factor.operands()[1];
        if (divisor.operation() != Expression::Operation::integer || first.integer() % divisor.integer() != 0)
          continue;
        operands[0] = Expression(first.integer() / divisor.integer());
        operands[i] = without_rounding(factor.operands()[0]);
        break;
      }
      return Expression::multiply(std::move(operands));
    }
    case Expression::Operation::next_pow2:
    case Expression::Operation::next_smooth:
      return operands.front();
    default:
      return Expression::apply(formula.operation(), std::move(operands));
  }
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
