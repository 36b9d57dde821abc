#include "analyse/explain/derive/formula_order.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace peakmark {
namespace {

using Operation = Expression::Operation;
using Sum = FormulaOrder::Sum;

constexpr std::size_t kMaxProducts = 2000;

void add_to(Sum& sum, const Sum& other) {
  for (const auto& [product, coefficient] : other) {
    Size& total = sum[product];
    total = checked_add(total, coefficient);
    if (total == 0) sum.erase(product);
  }
}

Sum multiplied(const Sum& one, const Sum& other) {
  if (one.size() * other.size() > kMaxProducts) throw OverflowError("a formula with too many products");
  Sum result;
  for (const auto& [first, coefficient] : one) {
    for (const auto& [second, factor] : other) {
      std::vector<std::size_t> product = first;
      product.insert(product.end(), second.begin(), second.end());
      std::ranges::sort(product);
      add_to(result, {{std::move(product), checked_multiply(coefficient, factor)}});
    }
  }
  return result;
}

}  // namespace

std::optional<Sum> FormulaOrder::multiplied_out(const Expression& formula) {
  try {
    return part(formula);
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

bool FormulaOrder::is_never_less(const Sum& one, const Sum& other) const {
  Sum difference = one;
  try {
    for (const auto& [product, coefficient] : other)
      add_to(difference, {{product, checked_multiply(coefficient, -1)}});
  } catch (const OverflowError&) {
    return false;
  }
  return std::ranges::all_of(difference, [&](const auto& term) {
    return term.second > 0 &&
           std::ranges::all_of(term.first, [&](std::size_t part) { return parts_[part].has_lower_bound; });
  });
}

// Returns a lower bound of the formula, as far as it is easy to see; null if the formula may be negative.
std::optional<Size> FormulaOrder::lower_bound(const Expression& formula) {
  const std::vector<Expression>& operands = formula.operands();
  const auto least_of = [&](std::size_t operand) { return lower_bound(operands[operand]); };
  switch (formula.operation()) {
    case Operation::integer:
      return formula.integer() < 0 ? std::nullopt : std::optional(formula.integer());
    case Operation::axis: {
      const Shapes::Axis* const axis = recorded_.axis(formula.name());
      if (axis == nullptr || axis->values.empty()) return std::nullopt;
      const Size least = std::ranges::min(axis->values);
      return least < 0 ? std::nullopt : std::optional(std::min<Size>(least, 1));
    }
    case Operation::add:
    case Operation::multiply: {
      const Sum sum = part(formula);
      if (!is_never_less(sum, {})) return std::nullopt;
      const auto constant = sum.find({});
      return constant == sum.end() ? Size{0} : constant->second;
    }
    case Operation::divide_up: {
      const auto least = least_of(0);
      return least ? std::optional(std::min<Size>(*least, 1)) : std::nullopt;
    }
    case Operation::divide_down:
      return least_of(0) ? std::optional<Size>(0) : std::nullopt;
    case Operation::remainder:
      return 0;
    case Operation::pow2:
    case Operation::next_pow2:
    case Operation::next_smooth:
      return 1;
    case Operation::min: {
      const auto one = least_of(0);
      const auto other = least_of(1);
      return one && other ? std::optional(std::min(*one, *other)) : std::nullopt;
    }
    case Operation::floating:  // in formulas of users only, as the next four
    case Operation::ceil:
    case Operation::floor:
    case Operation::round:
    case Operation::subtract:
      return std::nullopt;
    case Operation::max:
      return std::max(least_of(0), least_of(1));  // null compares less than any number
    case Operation::if_zero: {
      const auto one = least_of(1);
      const auto other = least_of(2);
      return one && other ? std::optional(std::min(*one, *other)) : std::nullopt;
    }
  }
  return std::nullopt;
}

Sum FormulaOrder::part(const Expression& formula) {
  switch (formula.operation()) {
    case Operation::integer:
      return formula.integer() == 0 ? Sum{} : Sum{{{}, formula.integer()}};
    case Operation::add: {
      Sum sum;
      for (const Expression& operand : formula.operands()) add_to(sum, part(operand));
      return sum;
    }
    case Operation::multiply: {
      Sum product{{{}, 1}};
      for (const Expression& operand : formula.operands()) product = multiplied(product, part(operand));
      return product;
    }
    default:
      break;
  }
  const auto bound = lower_bound(formula);
  std::size_t index = 0;
  while (index < parts_.size() && !(parts_[index].expression == formula)) ++index;
  if (index == parts_.size()) parts_.push_back({formula, bound.has_value()});
  Sum sum{{{index}, 1}};
  if (bound.value_or(0) != 0) sum[{}] = *bound;
  return sum;
}

}  // namespace peakmark
