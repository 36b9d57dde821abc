#include "analyse/explain/derive/formula_order.hpp"

#include <algorithm>
#include <bit>
#include <random>

#include "base/error.hpp"
#include "measure/sweep/external_estimator.hpp"

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

namespace {

// More are drawn than needed, because some are refused: their bytes do not fit 64 bits.
constexpr std::size_t kDrawn = 2 * kMaxFarShapes;

class ShapeDraw {
 public:
  explicit ShapeDraw(const Shapes& recorded) : recorded_(recorded) {
    for (std::size_t axis = 0; axis < recorded.axes.size(); ++axis) {
      const Shapes::Axis& one = recorded.axes[axis];
      const bool is_free =
          one.name != kItemSizeAxis && !is_constant(one.values) && std::ranges::max(one.values) > 1;
      if (is_free) free_.push_back(axis);
    }
  }

  Shapes draw() {
    Shapes shapes = recorded_.subset({});
    for (std::size_t i = 0; i < kDrawn; ++i) shapes.add(drawn(i));
    return shapes;
  }

 private:
  std::vector<Size> drawn(std::size_t index) {
    std::vector<Size> lengths = recorded_.lengths(pick(recorded_.count()));
    if (free_.empty()) return lengths;
    const std::size_t changed = index % 3 == 2 ? free_.size() : index % 3 + 1;
    for (std::size_t i = 0; i < changed; ++i) {
      const std::size_t axis = index % 3 == 2 ? free_[i] : free_[pick(free_.size())];
      lengths[axis] = length(recorded_.axes[axis]);
    }
    return lengths;
  }

  // Returns a random length. All orders of magnitude are equally likely. One in four is a power of two or
  // next to one.
  Size length(const Shapes::Axis& axis) {
    const auto [min, max] = std::ranges::minmax(axis.values);
    if (min == 0 && pick(8) == 0) return 0;
    const auto orders =
        static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(max * kFarFactor)));
    const Size power = Size{1} << pick(orders);
    if (pick(4) == 0) return std::max<Size>(power + static_cast<Size>(pick(3)) - 1, 1);
    return power + static_cast<Size>(pick(static_cast<std::size_t>(power)));
  }

  std::size_t pick(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  const Shapes& recorded_;
  std::vector<std::size_t> free_;
  std::mt19937_64 random_{20261123};
};

// Returns the shapes at which the value of a formula is at least 0.
std::vector<std::size_t> valid_shapes(const Expression& formula, const Shapes& shapes) {
  const auto values = evaluate(formula, shapes);
  std::vector<std::size_t> valid;
  for (std::size_t shape = 0; shape < shapes.count(); ++shape) {
    try {
      if ((values ? (*values)[shape] : evaluate(formula, shapes, shape)) >= 0) valid.push_back(shape);
    } catch (const Error&) {  // it has no value
    }
  }
  return valid;
}

}  // namespace

Shapes far_shapes(const Shapes& recorded, const std::vector<Expression>& formulas) {
  Shapes shapes = ShapeDraw(recorded).draw();
  for (const Expression& formula : formulas) {
    const std::vector<std::size_t> valid = valid_shapes(formula, shapes);
    if (valid.size() < shapes.count()) shapes = shapes.subset(valid);
  }
  if (shapes.count() <= kMaxFarShapes) return shapes;
  std::vector<std::size_t> first(kMaxFarShapes);
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = i;
  return shapes.subset(first);
}

}  // namespace peakmark
