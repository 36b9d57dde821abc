#include "analyse/explain/search/polynomial_search.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <span>

#include "analyse/explain/search/formula_algebra.hpp"

namespace peakmark::fitting {

// A product of variables with its values: a column of the equations.
struct PolynomialSearch::Monomial {
  std::vector<int> exponents;
  Residues values;

  [[nodiscard]] int degree() const { return std::accumulate(exponents.begin(), exponents.end(), 0); }
};

// An axis or a length, with its values at the fitted shapes.
struct PolynomialSearch::Variable {
  Expression expression;
  Residues values;
};

namespace {

// Systems with more columns than this are not solved: there are more monomials than people write.
constexpr std::size_t kMaxColumns = 64;
// A polynomial must agree with this many more shapes than it has coefficients.
constexpr std::size_t kMinSpareShapes = 3;
// Total degree, and the largest exponent of one variable.
constexpr std::array<std::pair<int, int>, 7> kDegrees{
    {{1, 1}, {2, 1}, {2, 2}, {3, 1}, {3, 2}, {4, 1}, {3, 3}}};

Residues product(const Residues& a, const Residues& b) {
  Residues values(a.size());
  for (std::size_t row = 0; row < values.size(); ++row) values[row] = multiply(a[row], b[row]);
  return values;
}

Residues every(std::size_t stride, const Residues& values) {
  if (stride == 1) return values;
  Residues some;
  some.reserve(values.size() / stride + 1);
  for (std::size_t row = 0; row < values.size(); row += stride) some.push_back(values[row]);
  return some;
}

// Returns the stride n of the rows that suffice to show that equations with this many columns have no
// solution.
std::size_t stride_of_few(std::size_t columns, std::size_t rows) {
  return std::max<std::size_t>(rows / (columns + kMinSpareShapes), 1);
}

bool reads(const Atom& length, std::size_t axis) {
  return std::ranges::find(length.axes, axis) != length.axes.end();
}

bool are_read(const std::vector<std::size_t>& axes, const std::vector<const Atom*>& lengths) {
  return std::ranges::all_of(axes, [&](std::size_t axis) {
    return std::ranges::any_of(lengths, [&](const Atom* length) { return reads(*length, axis); });
  });
}

}  // namespace

// Returns the monomials of at most `degree`, with each variable at most `power` times, the simplest first.
std::vector<PolynomialSearch::Monomial> PolynomialSearch::monomials(const std::vector<Variable>& variables,
                                                                    int degree, int power) const {
  const std::size_t rows = prepared_.fitted.size();
  std::vector<Monomial> all{{std::vector<int>(variables.size(), 0), Residues(rows, 1)}};
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
        next.values = product(next.values, variables[v].values);
        all.push_back(std::move(next));
        if (all.size() > kMaxColumns) return all;
      }
    }
    begin = end;
  }
  return all;
}

// Returns the axes and lengths that have more than one value.
std::vector<PolynomialSearch::Variable> PolynomialSearch::variables(
    const std::vector<const Atom*>& lengths) const {
  std::vector<Variable> taken;
  const auto take = [&](const Expression& expression, std::span<const Size> at_shapes) {
    Residues residues;
    residues.reserve(prepared_.fitted.size());
    for (const std::size_t shape : prepared_.fitted) residues.push_back(residue(at_shapes[shape]));
    if (std::ranges::adjacent_find(residues, std::not_equal_to{}) == residues.end()) return;
    taken.push_back({expression, std::move(residues)});
  };
  for (std::size_t i = 0; i < prepared_.shapes.axes.size(); ++i) {
    const Shapes::Axis& axis = prepared_.shapes.axes[i];
    if (!problem_.is_idle(i)) take(Expression::axis(axis.name), axis.values);
  }
  for (const Atom* const length : lengths) take(length->expression, length->values);
  return taken;
}

std::optional<Expression> PolynomialSearch::polynomial(const std::vector<const Atom*>& lengths,
                                                       bool* is_ambiguous) const {
  const std::size_t rows = prepared_.fitted.size();
  const std::vector<Variable> read = variables(lengths);
  std::vector<Expression> expressions;
  expressions.reserve(read.size());
  for (const Variable& one : read) expressions.push_back(one.expression);

  std::size_t tried = 0;
  for (const auto& [degree, power] : kDegrees) {
    const std::vector<Monomial> columns = monomials(read, degree, power);
    if (columns.size() > kMaxColumns || columns.size() + kMinSpareShapes > rows) continue;
    if (columns.size() == tried) continue;
    tried = columns.size();
    const std::size_t stride = stride_of_few(columns.size(), rows);
    if (stride > 1 && !solve(columns, stride)) continue;
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
    Expression formula = factored(terms, expressions);
    if (has_evidence(formula) && problem_.is_exact(formula)) return formula;
  }
  return std::nullopt;
}

// Returns coefficients of the columns for the sizes at every `stride`-th shape.
std::optional<Residues> PolynomialSearch::solve(const std::vector<Monomial>& columns, std::size_t stride,
                                                bool* is_ambiguous) const {
  Residues right = every(stride, problem_.right());
  Elimination equations(right.size());
  bool is_dependent = false;
  for (const Monomial& column : columns)
    is_dependent = !equations.add_column(every(stride, column.values)) || is_dependent;
  if (is_ambiguous != nullptr) *is_ambiguous = is_dependent;
  return equations.solve(std::move(right));
}

// Excludes lengths that cannot be in a polynomial with a given number of lengths. Thousands are tried, so
// products of axes are eliminated once for all.
class PolynomialSearch::LengthFilter {
 public:
  LengthFilter(const PolynomialSearch& search, std::size_t lengths) : search_(search) {
    const std::size_t rows = search.prepared_.fitted.size();
    const std::vector<Variable> axes = search.variables({});
    std::vector<Variable> all = axes;
    all.resize(axes.size() + lengths, {Expression(), Residues(rows, 1)});
    for (const auto& [degree, power] : kDegrees) {
      const std::size_t columns = search.monomials(all, degree, power).size();
      if (columns > kMaxColumns || columns + kMinSpareShapes > rows) continue;
      // A larger degree includes the results of a smaller one.
      std::erase_if(degrees_, [degree = degree, power = power](const Degree& one) {
        return one.degree <= degree && one.power <= power;
      });
      const std::size_t stride = stride_of_few(columns, rows);
      Residues right = every(stride, search.problem_.right());
      Elimination span(right.size(), Elimination::Keep::span);
      std::vector<Monomial> products = search.monomials(axes, degree, power);
      for (Monomial& one : products) {
        one.values = every(stride, one.values);
        span.add_column(one.values);
      }
      degrees_.push_back({degree, power, stride, std::move(products), std::move(span), std::move(right)});
    }
  }

  [[nodiscard]] bool may_fit(const std::vector<const Atom*>& lengths) const {
    std::vector<Residues> values;
    for (const Atom* const length : lengths) {
      Residues& one = values.emplace_back();
      for (const std::size_t shape : search_.prepared_.fitted) one.push_back(residue(length->values[shape]));
    }
    return std::ranges::any_of(degrees_, [&](const Degree& degree) { return may_fit(degree, values); });
  }

 private:
  struct Degree {
    int degree;
    int power;
    std::size_t stride;
    std::vector<Monomial> products;  // of axes, lower degrees first
    Elimination span;                // of the products
    Residues right;
  };

  static bool may_fit(const Degree& degree, const std::vector<Residues>& lengths) {
    Elimination equations = degree.span;
    std::vector<Monomial> powers{{{}, Residues(degree.right.size(), 1)}};
    for (const Residues& all_rows : lengths) {
      const Residues length = every(degree.stride, all_rows);
      const std::size_t known = powers.size();
      for (std::size_t i = 0; i < known; ++i) {
        Monomial next = powers[i];
        for (int power = 1; power <= degree.power && next.degree() < degree.degree; ++power) {
          next.exponents.push_back(1);
          next.values = product(next.values, length);
          powers.push_back(next);
        }
      }
    }
    for (const Monomial& one : std::span(powers).subspan(1)) {
      for (const Monomial& of_axes : degree.products) {
        if (one.degree() + of_axes.degree() > degree.degree) break;
        equations.add_column(product(one.values, of_axes.values));
      }
    }
    return equations.has_solution(degree.right);
  }

  const PolynomialSearch& search_;
  std::vector<Degree> degrees_;
};

// For any sizes there is a polynomial with as many parts as sizes: that would be a coincidence.
bool PolynomialSearch::has_evidence(const Expression& formula) const {
  std::vector<Size> fitted;
  fitted.reserve(prepared_.fitted.size());
  for (const std::size_t shape : prepared_.fitted) fitted.push_back(problem_.sizes()[shape]);
  const std::size_t distinct = std::set<Size>(fitted.begin(), fitted.end()).size();
  return is_shown(formula, fitted, distinct);
}

// ---- along lines

// sizes = c + k · length
bool PolynomialSearch::is_line_of_length(const AxisLine& line, const Atom& length) const {
  const Residues& right = problem_.right();
  const auto value = [&](std::size_t row) { return length.values[prepared_.fitted[row]]; };
  const std::size_t first = line.rows.front();
  const auto second =
      std::ranges::find_if(line.rows, [&](std::size_t row) { return value(row) != value(first); });
  if (second == line.rows.end()) {
    return std::ranges::all_of(line.rows, [&](std::size_t row) { return right[row] == right[first]; });
  }
  const std::uint64_t run = residue(value(*second) - value(first));
  const std::uint64_t rise = subtract(right[*second], right[first]);
  return std::ranges::all_of(line.rows, [&](std::size_t row) {
    return multiply(subtract(right[row], right[first]), run) ==
           multiply(rise, residue(value(row) - value(first)));
  });
}

// sizes = c + k · length + l · axis + m · length · axis
bool PolynomialSearch::is_line_of_length_and_axis(const AxisLine& line, const Atom& length) const {
  Elimination equations(line.rows.size(), Elimination::Keep::span);
  std::array<Residues, 3> columns;
  Residues right;
  for (const std::size_t row : line.rows) {
    const std::size_t shape = prepared_.fitted[row];
    const std::uint64_t axis_value = residue(prepared_.shapes.axes[line.axis].values[shape]);
    const std::uint64_t length_value = residue(length.values[shape]);
    columns[0].push_back(length_value);
    columns[1].push_back(axis_value);
    columns[2].push_back(multiply(axis_value, length_value));
    right.push_back(problem_.right()[row]);
  }
  equations.add_column(Residues(line.rows.size(), 1));
  for (Residues& column : columns) equations.add_column(std::move(column));
  return equations.has_solution(std::move(right));
}

bool PolynomialSearch::fits_lines(const Atom& length, bool with_axis) const {
  return std::ranges::all_of(prepared_.lines, [&](const AxisLine& line) {
    if (line.rows.size() < (with_axis ? 5 : 3) || !reads(length, line.axis)) return true;
    return is_line_of_length(line, length) || (with_axis && is_line_of_length_and_axis(line, length));
  });
}

// Returns the axes along which the sizes are not a polynomial: a rounded length must read each of them.
std::vector<std::size_t> PolynomialSearch::rough_axes() const {
  constexpr std::size_t kMaxDegree = 3;
  std::vector<std::size_t> found;
  for (const AxisLine& line : prepared_.lines) {
    if (line.rows.size() < 4 || std::ranges::find(found, line.axis) != found.end()) continue;
    Elimination equations(line.rows.size(), Elimination::Keep::span);
    Residues power(line.rows.size(), 1);
    Residues right;
    right.reserve(line.rows.size());
    for (const std::size_t row : line.rows) right.push_back(problem_.right()[row]);
    for (std::size_t degree = 0; degree <= std::min(kMaxDegree, line.rows.size() - 2); ++degree) {
      equations.add_column(power);
      for (std::size_t i = 0; i < power.size(); ++i) {
        const std::size_t shape = prepared_.fitted[line.rows[i]];
        power[i] = multiply(power[i], residue(prepared_.shapes.axes[line.axis].values[shape]));
      }
    }
    if (!equations.has_solution(std::move(right))) found.push_back(line.axis);
  }
  return found;
}

std::optional<Size> PolynomialSearch::constant_beside(const Atom& length) const {
  const Residues& right = problem_.right();
  std::optional<std::uint64_t> constant;
  for (const AxisLine& line : prepared_.lines) {
    if (line.rows.size() < 3 || !reads(length, line.axis)) continue;
    const auto value = [&](std::size_t row) { return residue(length.values[prepared_.fitted[row]]); };
    const std::size_t first = line.rows.front();
    const auto other =
        std::ranges::find_if(line.rows, [&](std::size_t row) { return value(row) != value(first); });
    if (other == line.rows.end()) continue;
    if (!is_line_of_length(line, length)) return std::nullopt;
    const std::uint64_t slope =
        multiply(subtract(right[*other], right[first]), inverse(subtract(value(*other), value(first))));
    const std::uint64_t offset = subtract(right[first], multiply(slope, value(first)));
    if (constant && *constant != offset) return std::nullopt;
    constant = offset;
  }
  return constant ? small_integer(*constant) : std::nullopt;
}

// ---- rounded lengths

std::optional<Expression> PolynomialSearch::rounded_polynomial() const {
  if (auto found = rounded_polynomial(false)) return found;
  return rounded_polynomial(true);
}

std::optional<Expression> PolynomialSearch::rounded_polynomial(bool with_axis) const {
  std::vector<const Atom*> fitting;
  std::optional<Expression> best;
  const std::vector<std::size_t> rough = rough_axes();
  const LengthFilter one_length(*this, 1);
  for (const Atom& length : prepared_.atoms) {
    // A formula with this length would not be simpler than the known one.
    if (best && length.complexity >= best->complexity()) break;
    if (length.is_linear || problem_.reads_idle_axis(length) || !fits_lines(length, with_axis)) continue;
    fitting.push_back(&length);
    if (!are_read(rough, {&length}) || !one_length.may_fit({&length})) continue;
    auto found = polynomial({&length});
    if (found && (!best || found->complexity() < best->complexity())) best = std::move(found);
  }
  if (best) return best;
  // Two rounded lengths: there are millions of pairs, but only few simple lengths fit along lines.
  constexpr std::size_t kMaxPaired = 40;
  fitting.resize(std::min(fitting.size(), kMaxPaired));
  const LengthFilter two_lengths(*this, 2);
  for (std::size_t a = 0; a < fitting.size(); ++a) {
    for (std::size_t b = a + 1; b < fitting.size(); ++b) {
      const std::vector<const Atom*> both{fitting[a], fitting[b]};
      if (!are_read(rough, both) || !two_lengths.may_fit(both)) continue;
      if (auto found = polynomial(both)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace peakmark::fitting
