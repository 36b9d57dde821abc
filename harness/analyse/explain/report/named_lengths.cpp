#include "analyse/explain/report/named_lengths.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "analyse/explain/search/formula_algebra.hpp"

namespace peakmark {
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
