#include "explain/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "explain/atoms.hpp"
#include "explain/polynomial.hpp"

namespace peakmark {
// Named: Fitter::Search has members of these types.
namespace fitting {

// Equations are solved modulo this prime, 2^61 - 1, which is fast and loses nothing: whatever is found is
// then verified with integers at every shape.
constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  const auto sum = static_cast<std::uint64_t>(product & kPrime) + static_cast<std::uint64_t>(product >> 61);
  return sum >= kPrime ? sum - kPrime : sum;
}
std::uint64_t subtract(std::uint64_t a, std::uint64_t b) {
  return a >= b ? a - b : a + kPrime - b;
}
std::uint64_t residue(Size value) {
  const auto rest = value % static_cast<Size>(kPrime);
  return static_cast<std::uint64_t>(rest < 0 ? rest + static_cast<Size>(kPrime) : rest);
}
std::uint64_t inverse(std::uint64_t value) {
  std::uint64_t result = 1;
  for (std::uint64_t exponent = kPrime - 2; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = multiply(result, value);
    value = multiply(value, value);
  }
  return result;
}
// The integer of least magnitude with this residue; nothing where it is too large to be a coefficient.
std::optional<Size> small_integer(std::uint64_t value) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 50;
  if (value <= kMax) return static_cast<Size>(value);
  if (kPrime - value <= kMax) return -static_cast<Size>(kPrime - value);
  return std::nullopt;
}

using Residues = std::vector<std::uint64_t>;

struct ResiduesHash {
  std::size_t operator()(const Residues& values) const {
    std::uint64_t hash = 0x9e3779b97f4a7c15;
    for (const std::uint64_t value : values) hash = (hash ^ value) * 0xbf58476d1ce4e5b9 + (hash >> 29);
    return hash;
  }
};

// Solves columns · x = right side exactly. Columns that depend on earlier ones get 0, so that simple columns
// belong first. Nothing where there is no solution.
class Elimination {
 public:
  // Returns false where the column depends on those before it.
  bool add_column(Residues column) {
    Residues combination(columns_ + 1, 0);
    combination[columns_++] = 1;
    reduce(column, combination);
    const auto pivot = std::ranges::find_if(column, [](std::uint64_t value) { return value != 0; });
    if (pivot == column.end()) return false;
    const std::uint64_t scale = inverse(*pivot);
    for (auto& value : column) value = multiply(value, scale);
    for (auto& value : combination) value = multiply(value, scale);
    basis_.push_back(
        {static_cast<std::size_t>(pivot - column.begin()), std::move(column), std::move(combination)});
    return true;
  }

  [[nodiscard]] std::optional<Residues> solve(Residues right) const {
    Residues combination(columns_, 0);
    reduce(right, combination);
    if (std::ranges::any_of(right, [](std::uint64_t value) { return value != 0; })) return std::nullopt;
    for (auto& value : combination) value = subtract(0, value);
    return combination;
  }

 private:
  void reduce(Residues& values, Residues& combination) const {
    for (const Row& row : basis_) {
      const std::uint64_t factor = values[row.pivot];
      if (factor == 0) continue;
      for (std::size_t i = row.pivot; i < values.size(); ++i)
        values[i] = subtract(values[i], multiply(factor, row.values[i]));
      for (std::size_t i = 0; i < row.combination.size(); ++i)
        combination[i] = subtract(combination[i], multiply(factor, row.combination[i]));
    }
  }

  struct Row {
    std::size_t pivot;
    Residues values;
    Residues combination;
  };
  std::size_t columns_ = 0;
  std::vector<Row> basis_;
};

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
    return fit_within(sizes, kMaxPeeled);
  }

 private:
  static constexpr int kMaxPeeled = 3;

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
    if (auto found = product_of_two()) return found;
    if (auto found = polynomial({})) return found;
    if (auto found = without_factor(depth)) return found;
    if (auto found = product_of_three()) return found;
    if (auto found = without_constant(depth)) return found;
    return rounded_polynomial();
  }

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
      if (auto found = fit_within(rest, depth - 1))
        return Fit{Expression::add({found->formula, Expression(*constant)}), {}, {}};
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
        return Fit{Expression::multiply({found->formula, atom.expression}), {}, {}};
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
        if (at(formula, shape) != sizes_[shape]) return false;
      }
    } catch (const Error&) {
      return false;
    }
    return true;
  }
  [[nodiscard]] Size at(const Expression& formula, std::size_t shape) const {
    return formula.evaluate([&](const std::string& name) {
      return std::ranges::find(shapes_.axes, name, &Shapes::Axis::name)->values[shape];
    });
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
    std::ranges::stable_sort(parts, {}, &Expression::complexity);
    parts.insert(parts.begin(), Expression(*coefficient));
    Expression formula = Expression::multiply(std::move(parts));
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

  [[nodiscard]] std::optional<Fit> polynomial(const std::vector<const Atom*>& lengths) const {
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
      const auto solution = solve(columns, 1);
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
      if (is_exact(formula)) return Fit{std::move(formula), {}, {}};
    }
    return std::nullopt;
  }
  // Coefficients of the columns for the sizes at every `stride`-th shape.
  [[nodiscard]] std::optional<Residues> solve(const std::vector<Monomial>& columns,
                                              std::size_t stride) const {
    const auto some = [&](const Residues& values) {
      if (stride == 1) return values;
      Residues result;
      for (std::size_t row = 0; row < values.size(); row += stride) result.push_back(values[row]);
      return result;
    };
    Elimination equations;
    for (const Monomial& column : columns) equations.add_column(some(column.values));
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

  [[nodiscard]] std::optional<Fit> rounded_polynomial() const {
    if (auto found = rounded_polynomial(false)) return found;
    return rounded_polynomial(true);
  }

  [[nodiscard]] std::optional<Fit> rounded_polynomial(bool with_axis) const {
    std::vector<const Atom*> fitting;
    std::optional<Fit> best;
    for (const Atom& atom : atoms_) {
      // The formula has the length and more: it is not simpler than one that is known.
      if (best && atom.complexity >= best->formula.complexity()) break;
      if (atom.is_linear || reads_idle_axis(atom) || !fits_lines(atom, with_axis)) continue;
      auto found = polynomial({&atom});
      if (found && (!best || found->formula.complexity() < best->formula.complexity()))
        best = std::move(found);
      fitting.push_back(&atom);
    }
    if (best) return best;
    // Two rounded lengths: all pairs would be millions, the simple ones of those that fit along lines are
    // few.
    constexpr std::size_t kMaxPaired = 40;
    fitting.resize(std::min(fitting.size(), kMaxPaired));
    for (std::size_t a = 0; a < fitting.size(); ++a) {
      for (std::size_t b = a + 1; b < fitting.size(); ++b) {
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
  std::span<const Size> sizes_;
  Residues right_;
};

Fitter::Fitter(Shapes shapes, std::vector<std::size_t> held_out)
    : search_(std::make_unique<Search>(std::move(shapes), held_out)) {}
Fitter::~Fitter() = default;
std::optional<Fit> Fitter::fit(std::span<const Size> sizes) {
  return search_->fit(sizes);
}

}  // namespace peakmark
