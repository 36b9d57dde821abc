#include "explain/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "explain/atoms.hpp"
#include "explain/modular.hpp"
#include "explain/polynomial.hpp"

namespace peakmark {
// Named: Fitter::Search has members of these types.
namespace fitting {

// A product of variables with its values: a column of the equations.
struct Monomial {
  std::vector<int> exponents;
  Residues values;
};

// More columns than this are not solved: the number of monomials grows faster than what people write.
constexpr std::size_t kMaxColumns = 64;
// So many shapes more than coefficients must agree before a polynomial is believed.
constexpr std::size_t kMinSpareShapes = 3;

}  // namespace fitting

using namespace fitting;

class Fitter::Search {
 public:
  Search(Shapes shapes, const std::vector<std::size_t>& held_out) : shapes_(std::move(shapes)) {
    for (const Shapes::Axis& axis : shapes_.axes) {
      if (axis.values.size() != shapes_.count())
        throw UsageError(fmt::format("axis '{}' has {} values, but '{}' has {}: give one value a shape",
                                     axis.name, axis.values.size(), shapes_.axes.front().name,
                                     shapes_.count()));
    }
    std::vector<bool> is_held_out(shapes_.count(), false);
    for (const std::size_t shape : held_out) is_held_out.at(shape) = true;
    for (std::size_t shape = 0; shape < shapes_.count(); ++shape) {
      if (!is_held_out[shape]) fitted_.push_back(shape);
    }
    for (const Shapes::Axis& axis : shapes_.axes) axes_.push_back(Expression::axis(axis.name));
    atoms_ = candidate_atoms(shapes_);
    find_lines();
    prepare_products();
  }

  std::optional<Fit> fit(std::span<const Size> sizes) {
    if (sizes.size() != shapes_.count())
      throw UsageError(
          fmt::format("{} sizes for {} shapes: give one size a shape", sizes.size(), shapes_.count()));
    if (fitted_.empty()) return std::nullopt;
    auto found = fit_within(sizes, kMaxPeeled);
    // From few shapes, a formula of many parts is a coincidence.
    if (found && weight(found->formula) > std::max(kMaxSimple, static_cast<Size>(fitted_.size())))
      return std::nullopt;
    return found;
  }

 private:
  static constexpr int kMaxPeeled = 3;
  // Parts of a formula that need no evidence: a count of 0 or 1 has two sizes, and `nx % 2` three parts.
  static constexpr Size kMaxSimple = 12;

  // Finds a formula for sizes; with `depth` factors more to take out of them.
  std::optional<Fit> fit_within(std::span<const Size> sizes, int depth) {
    const auto outer_sizes = std::exchange(sizes_, sizes);
    auto outer_right = std::exchange(right_, {});
    auto outer_idle = std::exchange(idle_, {});
    for (const std::size_t shape : fitted_) right_.push_back(residue(sizes[shape]));
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) idle_.push_back(is_idle(axis));
    auto found = search(depth);
    sizes_ = outer_sizes;
    right_ = std::move(outer_right);
    idle_ = std::move(outer_idle);
    return found;
  }

  std::optional<Fit> search(int depth) {
    if (auto found = constant()) return found;
    auto product = product_of_two();
    if (product && !has_rounding(product->formula)) return product;
    bool is_ambiguous = false;
    auto found = simpler(std::move(product), polynomial({}, &is_ambiguous));
    // Where shapes do not decide between polynomials, the one that was found may be a coincidence of large
    // coefficients: a product is simpler.
    if (found && !is_ambiguous) return found;
    found = simpler(std::move(found), without_factor(depth));
    if (found && !is_ambiguous) return found;
    found = simpler(std::move(found), product_of_three());
    if (found) return found;
    if (auto aligned = aligned_product()) return aligned;
    if (auto rest = without_constant(depth)) return rest;
    return is_without_constant_ ? std::nullopt : rounded_polynomial();
  }

  static bool has_rounding(const Expression& formula) {
    using Operation = Expression::Operation;
    return (formula.operation() != Operation::integer && formula.operation() != Operation::axis &&
            formula.operation() != Operation::add && formula.operation() != Operation::multiply) ||
           std::ranges::any_of(formula.operands(), has_rounding);
  }

  // The complexity, where an integer counts as many operations as its odd part has bits: 4096 is simpler than
  // 6355.
  static Size weight(const Expression& formula) {
    Size sum = 1;
    if (formula.operation() == Expression::Operation::integer && formula.integer() != 0) {
      auto odd = static_cast<std::uint64_t>(std::abs(formula.integer()));
      odd >>= std::countr_zero(odd);
      sum += static_cast<Size>(std::bit_width(odd)) - 1;
    }
    for (const Expression& operand : formula.operands()) sum += weight(operand);
    return sum;
  }

  // A polynomial with as many parts as there are sizes can be found for any sizes: it is a coincidence.
  [[nodiscard]] bool has_evidence(const Expression& formula) const {
    std::set<Size> distinct;
    for (const std::size_t shape : fitted_) distinct.insert(sizes_[shape]);
    return weight(formula) <= std::max(kMaxSimple, static_cast<Size>(distinct.size()));
  }

  // The simpler of two fits; the other is its rival if it is about as simple and differs somewhere.
  std::optional<Fit> simpler(std::optional<Fit> one, std::optional<Fit> other) const {
    if (!one) return other;
    if (!other) return one;
    if (weight(other->formula) < weight(one->formula)) std::swap(one, other);
    if (weight(other->formula) > weight(one->formula) + kMaxRivalWeight) return one;
    auto shape = deciding_shape(one->formula, other->formula);
    if (!shape.empty()) {
      one->rival = std::move(other->formula);
      one->deciding_shape = std::move(shape);
    }
    return one;
  }
  static constexpr Size kMaxRivalWeight = 8;

  // A shape made of recorded values, at most two of them not those of the first shape, at which two formulas
  // differ; empty if there is none.
  [[nodiscard]] std::vector<Size> deciding_shape(const Expression& one, const Expression& other) const {
    Shapes tried;
    for (const Shapes::Axis& axis : shapes_.axes) tried.axes.push_back({axis.name, {axis.values.front()}});
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      for (std::size_t b = a; b < axes_.size(); ++b) {
        Shapes shape = tried;
        for (const std::size_t axis : {a, b})
          shape.axes[axis].values[0] = std::ranges::max(shapes_.axes[axis].values);
        try {
          if (evaluate(one, shape, 0) == evaluate(other, shape, 0)) continue;
        } catch (const Error&) {
          continue;
        }
        std::vector<Size> values;
        for (const Shapes::Axis& axis : shape.axes) values.push_back(axis.values[0]);
        return values;
      }
    }
    return {};
  }

  // A product in the order in which people write it: simple factors first, then by axis.
  [[nodiscard]] Expression product_in_order(std::vector<Expression> factors) const {
    std::vector<Expression> flat;
    for (const Expression& factor : factors) {
      const ExpressionTerm term =
          terms(factor).size() == 1 ? terms(factor).front() : ExpressionTerm{1, {factor}};
      flat.insert(flat.end(), term.factors.begin(), term.factors.end());
      flat.emplace_back(term.coefficient);
    }
    std::ranges::stable_sort(flat, {}, [&](const Expression& factor) {
      const auto axes = factor.axes();
      const auto first = axes.empty() ? shapes_.axes.end()
                                      : std::ranges::find(shapes_.axes, axes.front(), &Shapes::Axis::name);
      return std::pair{factor.complexity(), first - shapes_.axes.begin()};
    });
    return Expression::multiply(std::move(flat));
  }

  // A product that is rounded up to a multiple of a power of two: 512 · ⌈12·ny·nx / 512⌉. Of each product the
  // sizes bound the coefficient from both sides.
  std::optional<Fit> aligned_product() {
    Size common = 0;
    for (const std::size_t shape : fitted_) common = std::gcd(common, sizes_[shape]);
    if (common < kMinAlignment) return std::nullopt;
    const auto largest = Size{1} << std::countr_zero(static_cast<std::uint64_t>(common));
    for (Size alignment = std::min(largest, kMaxAlignment); alignment >= kMinAlignment; alignment /= 2) {
      for (std::size_t a = 0; a < linear_.size(); ++a) {
        const Atom& one = *factors_[linear_[a]].atom;
        if (reads_idle_axis(one)) continue;
        if (auto found = aligned({&one}, alignment)) return found;
        for (std::size_t b = a; b < linear_.size(); ++b) {
          const Atom& two = *factors_[linear_[b]].atom;
          if (reads_idle_axis(two)) continue;
          if (auto found = aligned({&one, &two}, alignment)) return found;
          for (std::size_t axis = 0; axis < axes_.size() && two.complexity == 1 && one.complexity == 1;
               ++axis) {
            const auto third = std::ranges::find_if(
                atoms_, [&](const Atom& atom) { return atom.expression == axes_[axis]; });
            if (third == atoms_.end() || idle_[axis]) continue;
            if (auto found = aligned({&one, &two, &*third}, alignment)) return found;
          }
        }
      }
    }
    return std::nullopt;
  }
  static constexpr Size kMinAlignment = 16;
  static constexpr Size kMaxAlignment = 1 << 21;

  [[nodiscard]] std::optional<Fit> aligned(const std::vector<const Atom*>& factors, Size alignment) const {
    Size min = 1;
    Size max = kMaxElement;
    for (const std::size_t shape : fitted_) {
      Size product = 1;
      for (const Atom* const factor : factors)
        product = product > (Size{1} << 40) ? 0 : product * factor->values[shape];
      if (product <= 0) return std::nullopt;
      const Size size = sizes_[shape];
      min = std::max(min, size < alignment ? 0 : (size - alignment) / product + 1);
      max = std::min(max, size / product);
      if (min > max) return std::nullopt;
    }
    std::vector<Expression> parts;
    parts.reserve(factors.size());
    for (const Atom* const factor : factors) parts.push_back(factor->expression);
    for (Size coefficient = min; coefficient <= std::min(max, min + 8); ++coefficient) {
      std::vector<Expression> rounded = parts;
      rounded.emplace_back(coefficient);
      Expression formula = Expression::multiply(
          {Expression(alignment),
           Expression::apply(Expression::Operation::divide_up,
                             {product_in_order(std::move(rounded)), Expression(alignment)})});
      if (is_exact(formula)) return Fit{std::move(formula), {}, {}};
    }
    return std::nullopt;
  }
  // An element of a vector of 16 complex numbers of 16 bytes each.
  static constexpr Size kMaxElement = 256;

  // Of a product and a constant, the constant is what is left along each line where the length is 0.
  std::optional<Fit> without_constant(int depth) {
    if (depth < kMaxPeeled) return std::nullopt;
    std::vector<Size> tried{0};
    for (const Atom& atom : atoms_) {
      if (reads_idle_axis(atom)) continue;
      const auto constant = constant_beside(atom);
      if (!constant || std::ranges::find(tried, *constant) != tried.end()) continue;
      tried.push_back(*constant);
      if (tried.size() > kMaxConstants) break;
      std::vector<Size> rest(sizes_.begin(), sizes_.end());
      for (Size& size : rest) size -= *constant;
      // A polynomial has the constant itself, so that it is not searched for again without.
      is_without_constant_ = true;
      auto found = fit_within(rest, depth - 1);
      is_without_constant_ = false;
      if (found) return Fit{Expression::add({found->formula, Expression(*constant)}), {}, {}};
    }
    return std::nullopt;
  }
  static constexpr std::size_t kMaxConstants = 5;

  // The same constant c with sizes = c + k · length on every line of an axis that the length reads.
  [[nodiscard]] std::optional<Size> constant_beside(const Atom& atom) const {
    std::optional<std::uint64_t> constant;
    for (const Line& line : lines_) {
      if (line.rows.size() < 3 || std::ranges::find(atom.axes, line.axis) == atom.axes.end()) continue;
      const auto length = [&](std::size_t row) { return residue(atom.values[fitted_[row]]); };
      const std::size_t first = line.rows.front();
      const auto other =
          std::ranges::find_if(line.rows, [&](std::size_t row) { return length(row) != length(first); });
      if (other == line.rows.end()) continue;
      const std::uint64_t slope =
          multiply(subtract(right_[*other], right_[first]), inverse(subtract(length(*other), length(first))));
      const std::uint64_t offset = subtract(right_[first], multiply(slope, length(first)));
      if (constant && *constant != offset) return std::nullopt;
      constant = offset;
      for (const std::size_t row : line.rows) {
        if (subtract(right_[row], multiply(slope, length(row))) != offset) return std::nullopt;
      }
    }
    return constant ? small_integer(*constant) : std::nullopt;
  }

  // A factor that divides the size at every shape, and without which its axes no longer matter, is taken out.
  std::optional<Fit> without_factor(int depth) {
    if (depth == 0 || is_zero_somewhere()) return std::nullopt;
    for (const Factor& factor : factors_) {
      const Atom& atom = *factor.atom;
      if (reads_idle_axis(atom)) continue;
      std::vector<Size> rest(sizes_.size());
      bool divides = true;
      for (std::size_t shape = 0; shape < rest.size() && divides; ++shape) {
        const Size value = atom.values[shape];
        divides = value != 0 && sizes_[shape] % value == 0;
        if (divides) rest[shape] = sizes_[shape] / value;
      }
      if (!divides || !are_idle(atom.axes, rest)) continue;
      if (auto found = fit_within(rest, depth - 1))
        return Fit{product_in_order({found->formula, atom.expression}), {}, {}};
    }
    return std::nullopt;
  }

  // Whether sizes are known not to depend on any of some axes.
  [[nodiscard]] bool are_idle(const std::vector<std::size_t>& axes, const std::vector<Size>& sizes) const {
    for (const std::size_t axis : axes) {
      bool is_known = false;
      for (const Line& line : lines_) {
        if (line.axis != axis) continue;
        for (const std::size_t row : line.rows) {
          if (sizes[fitted_[row]] != sizes[fitted_[line.rows.front()]]) return false;
        }
        is_known = true;
      }
      if (!is_known) return false;
    }
    return true;
  }

  // ---- tests

  [[nodiscard]] bool is_exact(const Expression& formula) const {
    try {
      for (std::size_t shape = 0; shape < shapes_.count(); ++shape) {
        if (evaluate(formula, shapes_, shape) != sizes_[shape]) return false;
      }
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  // ---- constant

  [[nodiscard]] std::optional<Fit> constant() const {
    if (std::ranges::adjacent_find(sizes_, std::not_equal_to{}) != sizes_.end()) return std::nullopt;
    return Fit{Expression(sizes_.front()), {}, {}};
  }

  // ---- products of up to three atoms

  // The values of an atom relative to that at the first shape: equal for two atoms that differ by a factor
  // only.
  struct Factor {
    const Atom* atom;
    Residues values;
    Residues inverses;
  };

  void prepare_products() {
    for (const Atom& atom : atoms_) {
      Factor factor{&atom, {}, {}};
      for (const std::size_t shape : fitted_) factor.values.push_back(residue(atom.values[shape]));
      if (std::ranges::find(factor.values, std::uint64_t{0}) != factor.values.end()) continue;
      factor.inverses = inverses(factor.values);
      factors_.push_back(std::move(factor));
    }
    for (std::size_t i = 0; i < factors_.size(); ++i) {
      by_ratio_.try_emplace(ratios(factors_[i].values, factors_[i].inverses.front()), i);
    }
    for (std::size_t i = 0; i < factors_.size(); ++i) {
      if (factors_[i].atom->is_linear) linear_.push_back(i);
    }
  }

  // All at once: one inversion for the product of all values.
  static Residues inverses(const Residues& values) {
    Residues prefix(values.size() + 1, 1);
    for (std::size_t i = 0; i < values.size(); ++i) prefix[i + 1] = multiply(prefix[i], values[i]);
    std::uint64_t rest = inverse(prefix.back());
    Residues result(values.size());
    for (std::size_t i = values.size(); i-- > 0;) {
      result[i] = multiply(rest, prefix[i]);
      rest = multiply(rest, values[i]);
    }
    return result;
  }
  static Residues ratios(const Residues& values, std::uint64_t inverse_of_first) {
    Residues result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) result[i] = multiply(values[i], inverse_of_first);
    return result;
  }

  [[nodiscard]] bool is_zero_somewhere() const {
    return std::ranges::find(right_, std::uint64_t{0}) != right_.end();
  }

  [[nodiscard]] std::optional<Fit> product_of_two() {
    if (is_zero_somewhere()) return std::nullopt;
    std::optional<Fit> best;
    const Residues whole = ratios(right_, inverse(right_.front()));
    take(best, by_ratio_.find(whole), {});
    if (best) return best;
    for (const Factor& one : factors_) {
      if (best && one.atom->complexity >= best->formula.complexity()) break;
      if (reads_idle_axis(*one.atom)) continue;
      take(best, by_ratio_.find(without(whole, one)), {&one});
    }
    return best;
  }

  [[nodiscard]] std::optional<Fit> product_of_three() {
    if (is_zero_somewhere()) return std::nullopt;
    std::optional<Fit> best;
    const Residues whole = ratios(right_, inverse(right_.front()));
    std::vector<const Factor*> second;
    for (const Factor& factor : factors_) {
      if (factor.atom->complexity > kMaxInnerComplexity) break;
      if (!reads_idle_axis(*factor.atom)) second.push_back(&factor);
    }
    for (std::size_t a = 0; a < linear_.size(); ++a) {
      const Factor& one = factors_[linear_[a]];
      if (reads_idle_axis(*one.atom)) continue;
      const Residues rest = without(whole, one);
      for (const Factor* const two : second) take(best, by_ratio_.find(without(rest, *two)), {&one, two});
      if (best) return best;
    }
    return best;
  }

  // Of three factors the second is at most this complex: `next_smooth(2 * w, 7)` has 5.
  static constexpr Size kMaxInnerComplexity = 7;

  [[nodiscard]] static Residues without(const Residues& values, const Factor& factor) {
    Residues result(values.size());
    const std::uint64_t scale = factor.values.front();
    for (std::size_t i = 0; i < values.size(); ++i)
      result[i] = multiply(multiply(values[i], factor.inverses[i]), scale);
    return result;
  }

  using Ratios = std::unordered_map<Residues, std::size_t, ResiduesHash>;

  void take(std::optional<Fit>& best, const Ratios::const_iterator& found,
            const std::vector<const Factor*>& others) {
    if (found == by_ratio_.end()) return;
    std::uint64_t scale = multiply(right_.front(), factors_[found->second].inverses.front());
    std::vector<Expression> parts;
    for (const Factor* const other : others) {
      scale = multiply(scale, other->inverses.front());
      parts.push_back(other->atom->expression);
    }
    const auto coefficient = small_integer(scale);
    if (!coefficient) return;
    parts.push_back(factors_[found->second].atom->expression);
    parts.emplace_back(*coefficient);
    Expression formula = product_in_order(std::move(parts));
    if (best && formula.complexity() >= best->formula.complexity()) return;
    if (is_exact(formula)) best = Fit{std::move(formula), {}, {}};
  }

  // ---- polynomials in the axes and some rounded lengths

  // Monomials of at most `degree`, each variable at most `power` times, the simplest first.
  [[nodiscard]] std::vector<Monomial> monomials(const std::vector<Residues>& variables, int degree,
                                                int power) const {
    std::vector<Monomial> all{{std::vector<int>(variables.size(), 0), Residues(fitted_.size(), 1)}};
    std::size_t begin = 0;
    for (int total = 1; total <= degree; ++total) {
      const std::size_t end = all.size();
      for (std::size_t i = begin; i < end; ++i) {
        std::size_t last = 0;
        for (std::size_t v = 0; v < variables.size(); ++v) {
          if (all[i].exponents[v] > 0) last = v;
        }
        for (std::size_t v = last; v < variables.size(); ++v) {
          if (all[i].exponents[v] >= power) continue;
          Monomial next = all[i];
          ++next.exponents[v];
          for (std::size_t row = 0; row < fitted_.size(); ++row)
            next.values[row] = multiply(next.values[row], variables[v][row]);
          all.push_back(std::move(next));
          if (all.size() > kMaxColumns) return all;
        }
      }
      begin = end;
    }
    return all;
  }

  [[nodiscard]] std::optional<Fit> polynomial(const std::vector<const Atom*>& lengths,
                                              bool* is_ambiguous = nullptr) const {
    std::vector<Expression> variables;
    std::vector<Residues> values;
    const auto take = [&](const Expression& expression, std::span<const Size> at_shapes) {
      Residues residues;
      for (const std::size_t shape : fitted_) residues.push_back(residue(at_shapes[shape]));
      if (std::ranges::adjacent_find(residues, std::not_equal_to{}) == residues.end()) return;
      variables.push_back(expression);
      values.push_back(std::move(residues));
    };
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (!idle_[a]) take(axes_[a], shapes_.axes[a].values);
    }
    for (const Atom* const atom : lengths) take(atom->expression, atom->values);

    std::size_t tried = 0;
    for (const auto& [degree, power] : kDegrees) {
      const std::vector<Monomial> columns = monomials(values, degree, power);
      if (columns.size() > kMaxColumns || columns.size() + kMinSpareShapes > fitted_.size()) continue;
      if (columns.size() == tried) continue;
      tried = columns.size();
      const std::size_t few = columns.size() + kMinSpareShapes;
      if (few * 2 < fitted_.size() && !solve(columns, fitted_.size() / few)) continue;
      const auto solution = solve(columns, 1, is_ambiguous);
      if (!solution) continue;
      Polynomial terms;
      bool is_integer = true;
      for (std::size_t i = 0; i < columns.size() && is_integer; ++i) {
        const auto coefficient = small_integer((*solution)[i]);
        is_integer = coefficient.has_value();
        if (is_integer && *coefficient != 0) terms[columns[i].exponents] = *coefficient;
      }
      if (!is_integer) continue;
      Expression formula = factored(terms, variables);
      if (has_evidence(formula) && is_exact(formula)) return Fit{std::move(formula), {}, {}};
    }
    return std::nullopt;
  }
  // Coefficients of the columns for the sizes at every `stride`-th shape. Sets `is_ambiguous` to whether
  // other coefficients give the same sizes.
  [[nodiscard]] std::optional<Residues> solve(const std::vector<Monomial>& columns, std::size_t stride,
                                              bool* is_ambiguous = nullptr) const {
    const auto some = [&](const Residues& values) {
      if (stride == 1) return values;
      Residues result;
      for (std::size_t row = 0; row < values.size(); row += stride) result.push_back(values[row]);
      return result;
    };
    Elimination equations;
    bool is_dependent = false;
    for (const Monomial& column : columns)
      is_dependent = !equations.add_column(some(column.values)) || is_dependent;
    if (is_ambiguous != nullptr) *is_ambiguous = is_dependent;
    return equations.solve(some(right_));
  }
  // Total degree, and the largest exponent of one variable.
  static constexpr std::array<std::pair<int, int>, 7> kDegrees{
      {{1, 1}, {2, 1}, {2, 2}, {3, 1}, {3, 2}, {4, 1}, {3, 3}}};

  // ---- lines: shapes that differ in one axis only show how sizes depend on that axis

  struct Line {
    std::size_t axis;
    std::vector<std::size_t> rows;  // into fitted_
  };

  void find_lines() {
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      std::map<std::vector<Size>, std::vector<std::size_t>> groups;
      for (std::size_t row = 0; row < fitted_.size(); ++row) {
        std::vector<Size> others;
        for (std::size_t other = 0; other < axes_.size(); ++other) {
          if (other != axis) others.push_back(shapes_.axes[other].values[fitted_[row]]);
        }
        groups[others].push_back(row);
      }
      for (auto& [others, rows] : groups) {
        if (rows.size() > 1) lines_.push_back({axis, std::move(rows)});
      }
    }
  }

  [[nodiscard]] bool is_idle(std::size_t axis) const {
    return are_idle({axis}, {sizes_.begin(), sizes_.end()});
  }

  [[nodiscard]] bool reads_idle_axis(const Atom& atom) const {
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (idle_[axis] && std::ranges::find(atom.axes, axis) != atom.axes.end()) return true;
    }
    return false;
  }

  // Along a line of an axis that the length reads, sizes are a sum of 1, the axis, the length and their
  // product.
  [[nodiscard]] bool fits_lines(const Atom& atom, bool with_axis) const {
    for (const Line& line : lines_) {
      if (line.rows.size() < (with_axis ? 5 : 3)) continue;
      if (std::ranges::find(atom.axes, line.axis) == atom.axes.end()) continue;
      Elimination equations;
      Residues ones(line.rows.size(), 1);
      Residues axis;
      Residues length;
      Residues right;
      for (const std::size_t row : line.rows) {
        axis.push_back(residue(shapes_.axes[line.axis].values[fitted_[row]]));
        length.push_back(residue(atom.values[fitted_[row]]));
        right.push_back(right_[row]);
      }
      equations.add_column(std::move(ones));
      Residues product;
      for (std::size_t i = 0; i < axis.size(); ++i) product.push_back(multiply(axis[i], length[i]));
      equations.add_column(std::move(length));
      if (with_axis) equations.add_column(std::move(axis));
      if (with_axis) equations.add_column(std::move(product));
      if (!equations.solve(std::move(right))) return false;
    }
    return true;
  }

  // Axes along which the sizes are no polynomial: a rounded length must read each.
  [[nodiscard]] std::vector<std::size_t> rough_axes() const {
    constexpr std::size_t kMaxDegree = 3;
    std::vector<std::size_t> found;
    for (const Line& line : lines_) {
      if (line.rows.size() < 4 || std::ranges::find(found, line.axis) != found.end()) continue;
      Elimination equations;
      Residues power(line.rows.size(), 1);
      Residues right;
      for (const std::size_t row : line.rows) right.push_back(right_[row]);
      for (std::size_t degree = 0; degree <= std::min(kMaxDegree, line.rows.size() - 2); ++degree) {
        equations.add_column(power);
        for (std::size_t i = 0; i < power.size(); ++i)
          power[i] = multiply(power[i], residue(shapes_.axes[line.axis].values[fitted_[line.rows[i]]]));
      }
      if (!equations.solve(std::move(right))) found.push_back(line.axis);
    }
    return found;
  }

  static bool are_read(const std::vector<std::size_t>& axes, const std::vector<const Atom*>& lengths) {
    return std::ranges::all_of(axes, [&](std::size_t axis) {
      return std::ranges::any_of(lengths, [&](const Atom* length) {
        return std::ranges::find(length->axes, axis) != length->axes.end();
      });
    });
  }

  [[nodiscard]] std::optional<Fit> rounded_polynomial() const {
    if (auto found = rounded_polynomial(false)) return found;
    return rounded_polynomial(true);
  }

  [[nodiscard]] std::optional<Fit> rounded_polynomial(bool with_axis) const {
    std::vector<const Atom*> fitting;
    std::optional<Fit> best;
    const std::vector<std::size_t> rough = rough_axes();
    for (const Atom& atom : atoms_) {
      // The formula has the length and more: it is not simpler than one that is known.
      if (best && atom.complexity >= best->formula.complexity()) break;
      if (atom.is_linear || reads_idle_axis(atom) || !fits_lines(atom, with_axis)) continue;
      fitting.push_back(&atom);
      if (!are_read(rough, {&atom})) continue;
      auto found = polynomial({&atom});
      if (found && (!best || found->formula.complexity() < best->formula.complexity()))
        best = std::move(found);
    }
    if (best) return best;
    // Two rounded lengths: all pairs would be millions, the simple ones of those that fit along lines are
    // few.
    constexpr std::size_t kMaxPaired = 40;
    fitting.resize(std::min(fitting.size(), kMaxPaired));
    for (std::size_t a = 0; a < fitting.size(); ++a) {
      for (std::size_t b = a + 1; b < fitting.size(); ++b) {
        if (!are_read(rough, {fitting[a], fitting[b]})) continue;
        if (auto found = polynomial({fitting[a], fitting[b]})) return found;
      }
    }
    return std::nullopt;
  }

  Shapes shapes_;
  std::vector<std::size_t> fitted_;  // shapes that are not held out
  std::vector<Expression> axes_;
  std::vector<Atom> atoms_;
  std::vector<Factor> factors_;
  std::vector<std::size_t> linear_;
  Ratios by_ratio_;
  std::vector<Line> lines_;
  std::vector<bool> idle_;  // of each axis: the sizes are known not to depend on it
  bool is_without_constant_ = false;
  std::span<const Size> sizes_;
  Residues right_;
};

Size evaluate(const Expression& formula, const Shapes& shapes, std::size_t shape) {
  return formula.evaluate([&](const std::string& name) {
    const auto axis = std::ranges::find(shapes.axes, name, &Shapes::Axis::name);
    if (axis == shapes.axes.end()) throw UsageError("no shape has the axis '" + name + "'");
    return axis->values[shape];
  });
}

Fitter::Fitter(Shapes shapes, std::vector<std::size_t> held_out)
    : search_(std::make_unique<Search>(std::move(shapes), held_out)) {}
Fitter::~Fitter() = default;
std::optional<Fit> Fitter::fit(std::span<const Size> sizes) {
  return search_->fit(sizes);
}

}  // namespace peakmark
