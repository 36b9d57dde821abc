#include "analyse/explain/search/prepared_shapes.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

namespace peakmark::fitting {
namespace {

std::vector<AxisLine> find_lines(const Shapes& shapes, const std::vector<std::size_t>& fitted) {
  std::vector<AxisLine> lines;
  for (std::size_t axis = 0; axis < shapes.axes.size(); ++axis) {
    std::map<std::vector<Size>, std::vector<std::size_t>> groups;
    for (std::size_t row = 0; row < fitted.size(); ++row) {
      std::vector<Size> others = shapes.lengths(fitted[row]);
      others[axis] = 0;
      groups[others].push_back(row);
    }
    for (auto& [others, rows] : groups) {
      if (rows.size() > 1) lines.push_back({axis, std::move(rows)});
    }
  }
  return lines;
}

// Formulas of at most this complexity are accepted without further evidence: a count of 0 or 1 has only two
// sizes, and `nx % 2` has three parts.
constexpr Size kMaxSimple = 12;

// Returns true for a product of axes and an integer, or an integer.
bool is_monomial(const Expression& formula) {
  const auto terms_of_sum = terms(formula);
  return terms_of_sum.size() == 1 &&
         std::ranges::all_of(terms_of_sum.front().factors, [](const Expression& factor) {
           return factor.operation() == Expression::Operation::axis;
         });
}

// Returns the number of terms of a formula and of the sums in it.
std::size_t count_terms(const Expression& formula) {
  const std::vector<ExpressionTerm> all = terms(formula);
  std::size_t count = all.size();
  for (const ExpressionTerm& term : all) {
    for (const Expression& factor : term.factors) {
      if (factor.operation() == Expression::Operation::add) count += count_terms(factor) - 1;
    }
  }
  return count;
}

// Returns the complexity; repeated factors of a product count once.
Size complexity_of_factors(const Expression& formula) {
  if (formula.operation() != Expression::Operation::multiply) return formula.complexity();
  const std::vector<Expression>& factors = formula.operands();
  Size sum = 1;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const auto before = factors.begin() + static_cast<std::ptrdiff_t>(i);
    sum += std::find(factors.begin(), before, factors[i]) != before ? 1 : factors[i].complexity();
  }
  return sum;
}

}  // namespace

PreparedShapes::PreparedShapes(Shapes recorded, std::vector<Atom> candidates,
                               const std::vector<std::size_t>& held_out)
    : shapes(std::move(recorded)), atoms(std::move(candidates)) {
  std::vector<bool> is_held_out(shapes.count(), false);
  for (const std::size_t shape : held_out) is_held_out.at(shape) = true;
  for (std::size_t shape = 0; shape < shapes.count(); ++shape) {
    if (!is_held_out[shape]) fitted.push_back(shape);
  }
  lines = find_lines(shapes, fitted);
}

SizeProblem::SizeProblem(const PreparedShapes& prepared, std::span<const Size> sizes)
    : prepared_(prepared), sizes_(sizes) {
  right_.reserve(prepared.fitted.size());
  for (const std::size_t shape : prepared.fitted) right_.push_back(residue(sizes[shape]));
  for (std::size_t axis = 0; axis < prepared.shapes.axes.size(); ++axis)
    idle_.push_back(are_idle(prepared, {axis}, sizes));
}

bool SizeProblem::is_zero_somewhere() const {
  return std::ranges::find(right_, std::uint64_t{0}) != right_.end();
}

bool SizeProblem::reads_idle_axis(const Atom& atom) const {
  return std::ranges::any_of(atom.axes, [&](std::size_t axis) { return idle_[axis]; });
}

bool SizeProblem::is_exact(const Expression& formula) const {
  const auto values = evaluate(formula, prepared_.shapes);
  return values && std::ranges::equal(*values, sizes_);
}

bool are_idle(const PreparedShapes& prepared, const std::vector<std::size_t>& axes,
              std::span<const Size> sizes) {
  for (const std::size_t axis : axes) {
    bool is_known = false;
    for (const AxisLine& line : prepared.lines) {
      if (line.axis != axis) continue;
      for (const std::size_t row : line.rows) {
        if (sizes[prepared.fitted[row]] != sizes[prepared.fitted[line.rows.front()]]) return false;
      }
      is_known = true;
    }
    if (!is_known) return false;
  }
  return true;
}

Size weight(const Expression& formula) {
  Size sum = 1;
  if (formula.operation() == Expression::Operation::integer && formula.integer() != 0) {
    auto odd = static_cast<std::uint64_t>(std::abs(formula.integer()));
    odd >>= std::countr_zero(odd);
    sum += static_cast<Size>(std::bit_width(odd)) - 1;
  }
  for (const Expression& operand : formula.operands()) sum += weight(operand);
  return sum;
}

bool is_shown(const Expression& formula, std::span<const Size> sizes, std::size_t evidence) {
  if (is_monomial(formula)) return true;
  const std::size_t different = std::set<Size>(sizes.begin(), sizes.end()).size();
  // Number of different sizes, beyond the number of unknown coefficients, that exclude a coincidence.
  constexpr std::size_t kMinSpareSizes = 3;
  const bool shows_integers = different >= count_terms(formula) + kMinSpareSizes;
  const Size parts = shows_integers ? complexity_of_factors(formula) : weight(formula);
  return parts <= std::max(kMaxSimple, static_cast<Size>(evidence));
}

Expression product_in_order(const Shapes& shapes, const std::vector<Expression>& factors) {
  std::vector<Expression> flat;
  for (const Expression& factor : factors) {
    const ExpressionTerm term =
        terms(factor).size() == 1 ? terms(factor).front() : ExpressionTerm{1, {factor}};
    flat.insert(flat.end(), term.factors.begin(), term.factors.end());
    flat.emplace_back(term.coefficient);
  }
  std::ranges::stable_sort(flat, {}, [&](const Expression& factor) {
    const auto axes = factor.axes();
    const auto first =
        axes.empty() ? shapes.axes.end() : std::ranges::find(shapes.axes, axes.front(), &Shapes::Axis::name);
    return std::pair{factor.complexity(), first - shapes.axes.begin()};
  });
  return Expression::multiply(std::move(flat));
}

}  // namespace peakmark::fitting
