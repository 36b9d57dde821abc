#include "analyse/explain/search/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "analyse/explain/search/formula_algebra.hpp"
#include "analyse/explain/search/polynomial_search.hpp"
#include "analyse/explain/search/prepared_shapes.hpp"
#include "analyse/explain/search/product_search.hpp"
#include "base/error.hpp"
#include "measure/sweep/choose_shapes.hpp"

namespace peakmark {

using namespace fitting;

class Fitter::Search {
 public:
  Search(Shapes shapes, std::vector<std::size_t> held_out)
      : shapes_(std::move(shapes)), held_out_(std::move(held_out)) {
    for (const Shapes::Axis& axis : shapes_.axes) {
      if (axis.values.size() != shapes_.count())
        throw UsageError(fmt::format("axis '{}' has {} values, but '{}' has {}: give one value per shape",
                                     axis.name, axis.values.size(), shapes_.axes.front().name,
                                     shapes_.count()));
    }
  }

  Search(Search& all, std::vector<std::size_t> at, std::vector<std::size_t> held_out)
      : shapes_(all.shapes_.subset(at)), held_out_(std::move(held_out)), all_(&all), at_(std::move(at)) {}

  std::optional<Fit> fit(std::span<const Size> sizes) {
    if (sizes.size() != shapes_.count())
      throw UsageError(
          fmt::format("{} sizes for {} shapes: give one size per shape", sizes.size(), shapes_.count()));
    const std::size_t fitted = shapes_.count() - held_out_.size();
    if (fitted == 0) return std::nullopt;
    if (!is_constant(sizes)) prepare();
    auto found = search(sizes, kMaxPeeled, true);
    if (found) found->formula = without_idle_rounding(found->formula);
    // With few shapes, a formula with many parts is a coincidence.
    if (found && !is_shown(found->formula, sizes, fitted)) return std::nullopt;
    if (found &&
        !(shows_choices(found->formula) && shows_limits(found->formula) && shows_roundings(found->formula)))
      return std::nullopt;
    if (found && found->rival && !shows_choices(*found->rival)) found->rival.reset();
    return found;
  }

 private:
  struct Prepared {
    explicit Prepared(PreparedShapes shapes) : prepared(std::move(shapes)), products(prepared) {}
    const PreparedShapes prepared;
    const ProductSearch products;
  };

  // Maximum number of factors that are divided out of sizes, one after the other.
  static constexpr int kMaxPeeled = 3;
  static constexpr Size kMaxRivalWeight = 8;
  static constexpr std::size_t kMaxConstants = 5;
  static constexpr std::size_t kMinValuesOfAxis = 2;

  // Returns whether the shapes where an axis is 0 prove the value of a choice there: if they are few, some
  // sum of axes fits by coincidence.
  [[nodiscard]] bool shows_choices(const Expression& formula) const {
    return std::ranges::all_of(parts(formula), [&](const Expression& part) {
      if (part.operation() != Expression::Operation::if_zero) return true;
      const Expression& zero = part.operands()[1];
      std::set<Size> values;
      for (std::size_t shape = 0; shape < shapes_.count(); ++shape) {
        if (evaluate(part.operands()[0], shapes_, shape) == 0) values.insert(evaluate(zero, shapes_, shape));
      }
      return values.size() >= kMinValuesOfAxis * zero.axes().size();
    });
  }

  // Returns whether the sizes prove each limit of a length: no other limits give the same sizes, if they are
  // one longer or shorter, alone or together with the others of that length. A program may change at any
  // length between two recorded ones.
  [[nodiscard]] bool shows_limits(const Expression& formula) const {
    using Operation = Expression::Operation;
    std::vector<Expression> limits;
    std::ranges::copy_if(parts(formula), std::back_inserter(limits), [](const Expression& part) {
      return (part.operation() == Operation::min || part.operation() == Operation::max) &&
             part.operands()[1].operation() == Operation::integer;
    });
    const auto has_same_sizes = [&](const std::vector<Expression>& moved, Size by) {
      std::vector<Replacement> replacements;
      for (const Expression& one : moved) {
        Expression limit(one.operands()[1].integer() + by);
        replacements.emplace_back(one, Expression::apply(one.operation(), {one.operands()[0], limit}));
      }
      return evaluate(replaced(formula, replacements), shapes_) == evaluate(formula, shapes_);
    };
    return std::ranges::none_of(limits, [&](const Expression& one) {
      std::vector<Expression> of_length;
      std::ranges::copy_if(limits, std::back_inserter(of_length),
                           [&](const Expression& other) { return other.operands()[0] == one.operands()[0]; });
      return std::ranges::any_of(std::array<Size, 2>{1, -1}, [&](Size by) {
        return has_same_sizes({one}, by) || has_same_sizes(of_length, by);
      });
    });
  }

  // Returns whether each quotient of one axis and an integer has more than two values. With two values it is
  // a threshold that may be elsewhere: for 12, 16 and 18 slices, ⌈n / 16⌉ equals "1, and 2 from n = 18".
  [[nodiscard]] bool shows_roundings(const Expression& formula) const {
    using Operation = Expression::Operation;
    return std::ranges::none_of(parts(formula), [&](const Expression& part) {
      const bool up = part.operation() == Operation::divide_up;
      const bool is_quotient =
          up || part.operation() == Operation::divide_down || part.operation() == Operation::remainder;
      if (!is_quotient || part.operands()[1].operation() != Operation::integer || part.axes().size() != 1)
        return false;
      const auto values = evaluate(
          Expression::apply(up ? Operation::divide_up : Operation::divide_down, part.operands()), shapes_);
      return values && std::set<Size>(values->begin(), values->end()).size() == 2;
    });
  }

  // If lengths are even at every shape, 8·⌈nx·ny / 2⌉ equals 4·nx·ny: nothing proves the rounding.
  [[nodiscard]] Expression without_idle_rounding(const Expression& formula) const {
    return without_exact_divisions(formula, [&](const Expression& dividend, Size divisor) {
      const auto values = evaluate(dividend, shapes_);
      return values && std::ranges::all_of(*values, [&](Size value) { return value % divisor == 0; });
    });
  }

  static std::optional<Fit> as_fit(std::optional<Expression> formula) {
    if (!formula) return std::nullopt;
    return Fit{std::move(*formula)};
  }

  void prepare() {
    if (prepared_) return;
    if (all_ != nullptr) all_->prepare();
    auto atoms =
        all_ == nullptr ? candidate_atoms(shapes_) : candidate_atoms(shapes_, all_->prepared().atoms, at_);
    prepared_ = std::make_unique<const Prepared>(PreparedShapes(shapes_, std::move(atoms), held_out_));
  }

  // Finds a formula for sizes; divides out up to `depth` factors. `with_constant`: whether a constant may be
  // added to a product.
  std::optional<Fit> search(std::span<const Size> sizes, int depth, bool with_constant) const {
    if (is_constant(sizes)) return Fit{Expression(sizes.front())};
    const SizeProblem problem(prepared(), sizes);
    const PolynomialSearch polynomials(prepared(), problem);
    auto product = as_fit(products().product_of_two(problem));
    if (product && !has_rounding(product->formula)) return product;
    bool is_ambiguous = false;
    auto found = simpler(std::move(product), as_fit(polynomials.polynomial({}, &is_ambiguous)));
    // If the shapes do not decide between polynomials, the found one may be a coincidence with large
    // coefficients: a product is simpler.
    if (found && !is_ambiguous) return found;
    found = simpler(std::move(found), without_factor(problem, depth, with_constant));
    if (found && !is_ambiguous) return found;
    found = simpler(std::move(found), as_fit(products().product_of_three(problem)));
    if (found) return found;
    if (auto aligned = products().aligned_product(problem)) return as_fit(std::move(aligned));
    if (!with_constant) return std::nullopt;
    if (auto rest = without_constant(problem, polynomials, depth)) return rest;
    return as_fit(polynomials.rounded_polynomial());
  }

  static bool has_rounding(const Expression& formula) {
    using enum Expression::Operation;
    return std::ranges::any_of(parts(formula), [](const Expression& part) {
      return part.operation() != integer && part.operation() != axis && part.operation() != add &&
             part.operation() != multiply;
    });
  }

  // Returns the simpler of two fits. The other one becomes its rival if it is about as simple and differs
  // somewhere.
  std::optional<Fit> simpler(std::optional<Fit> one, std::optional<Fit> other) const {
    if (!one) return other;
    if (!other) return one;
    if (weight(other->formula) < weight(one->formula)) std::swap(one, other);
    if (weight(other->formula) > weight(one->formula) + kMaxRivalWeight) return one;
    auto shape = deciding_shape(one->formula, other->formula);
    if (!shape.axes.empty()) {
      one->rival = std::move(other->formula);
      one->deciding_shape = std::move(shape);
    }
    return one;
  }

  // Returns a shape of recorded values, at most two of which differ from the first shape, at which two
  // formulas differ; without axes if there is none.
  [[nodiscard]] Shapes deciding_shape(const Expression& one, const Expression& other) const {
    const std::size_t first = 0;
    const Shapes tried = prepared().shapes.subset(std::span(&first, 1));
    for (std::size_t a = 0; a < tried.axes.size(); ++a) {
      for (std::size_t b = a; b < tried.axes.size(); ++b) {
        Shapes shape = tried;
        for (const std::size_t axis : {a, b})
          shape.axes[axis].values[0] = std::ranges::max(prepared().shapes.axes[axis].values);
        const auto one_value = evaluate(one, shape);
        const auto other_value = evaluate(other, shape);
        if (one_value && other_value && *one_value != *other_value) return shape;
      }
    }
    return {};
  }

  // Finds a product plus a constant: the constant is the size, extrapolated along each line, where the length
  // is 0.
  std::optional<Fit> without_constant(const SizeProblem& problem, const PolynomialSearch& polynomials,
                                      int depth) const {
    if (depth < kMaxPeeled) return std::nullopt;
    std::vector<Size> tried{0};
    for (const Atom& atom : prepared().atoms) {
      if (problem.reads_idle_axis(atom)) continue;
      const auto constant = polynomials.constant_beside(atom);
      if (!constant || std::ranges::find(tried, *constant) != tried.end()) continue;
      tried.push_back(*constant);
      if (tried.size() > kMaxConstants) break;
      std::vector<Size> rest(problem.sizes().begin(), problem.sizes().end());
      for (Size& size : rest) size -= *constant;
      // A polynomial includes a constant, so the search is not repeated without it.
      if (auto found = search(rest, depth - 1, false))
        return Fit{Expression::add({found->formula, Expression(*constant)})};
    }
    return std::nullopt;
  }

  // Divides out a factor if it divides the size at every shape and the quotient no longer depends on its
  // axes.
  std::optional<Fit> without_factor(const SizeProblem& problem, int depth, bool with_constant) const {
    if (depth == 0 || problem.is_zero_somewhere()) return std::nullopt;
    const std::span<const Size> sizes = problem.sizes();
    std::vector<Size> rest(sizes.size());
    for (const Atom* const atom : products().atoms()) {
      if (problem.reads_idle_axis(*atom)) continue;
      bool divides = true;
      for (std::size_t shape = 0; shape < rest.size() && divides; ++shape) {
        const Size value = atom->values[shape];
        divides = value != 0 && sizes[shape] % value == 0;
        if (divides) rest[shape] = sizes[shape] / value;
      }
      if (!divides || !are_idle(prepared(), atom->axes, rest)) continue;
      if (auto found = search(std::vector<Size>(rest), depth - 1, with_constant))
        return Fit{product_in_order(prepared().shapes, {found->formula, atom->expression})};
    }
    return std::nullopt;
  }

  [[nodiscard]] const PreparedShapes& prepared() const { return prepared_->prepared; }
  [[nodiscard]] const ProductSearch& products() const { return prepared_->products; }

  const Shapes shapes_;
  const std::vector<std::size_t> held_out_;
  Search* const all_ = nullptr;  // these shapes are its shapes `at_`
  const std::vector<std::size_t> at_;
  std::unique_ptr<const Prepared> prepared_;  // created on first use, because constants do not need it
};

Fitter::Fitter(Shapes shapes, std::vector<std::size_t> held_out)
    : search_(std::make_unique<Search>(std::move(shapes), std::move(held_out))) {}
Fitter::Fitter(Fitter& all, std::vector<std::size_t> at, std::vector<std::size_t> held_out)
    : search_(std::make_unique<Search>(*all.search_, std::move(at), std::move(held_out))) {}
Fitter::~Fitter() = default;
std::optional<Fit> Fitter::fit(std::span<const Size> sizes) {
  return search_->fit(sizes);
}

namespace {

using Operation = Expression::Operation;

}  // namespace

Fitters::Fitters(Shapes shapes)
    : shapes_(std::move(shapes)), all_(shapes_, held_out_places(shapes_.count())) {}

const Figure& Fitters::fit(const Indices& at, const std::vector<Size>& sizes) {
  const auto [found, is_new] = entries_[at].figures.try_emplace(sizes);
  Figure& figure = found->second;
  if (!is_new) return figure;
  figure.recorded = sizes;
  figure.shapes = at;
  if (!sizes.empty()) figure.max_recorded = std::ranges::max(sizes);
  if (const auto fit = fit_exactly(at, sizes)) {
    figure.formula = fit->formula;
    figure.rival = fit->rival;
    figure.deciding_shape = fit->deciding_shape;
    return figure;
  }
  figure.formula = fit_bounded(at, sizes);
  if (!figure.formula) figure.formula = fit_cases(at, sizes, figure);
  return figure;
}

std::optional<Fit> Fitters::fit_exactly(const Indices& at, const std::vector<Size>& sizes) {
  if (at.size() < kMinExplainedShapes) return std::nullopt;
  if (at.size() == shapes_.count()) return all_.fit(sizes);
  std::unique_ptr<Fitter>& fitter = entries_[at].fitter;
  if (!fitter) fitter = std::make_unique<Fitter>(all_, at, held_out_places(at.size()));
  return fitter->fit(sizes);
}

// Finds `min(formula, bound)` or `max(formula, bound)` if several shapes have the largest or smallest size:
// the formula is fitted without these shapes.
std::optional<Expression> Fitters::fit_bounded(const Indices& at, const std::vector<Size>& sizes) {
  if (sizes.empty()) return std::nullopt;
  const auto [smallest, largest] = std::ranges::minmax(sizes);
  for (const bool is_upper : {true, false}) {
    const Size bound = is_upper ? largest : smallest;
    Indices inside;
    Indices outside;
    std::vector<Size> inside_sizes;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      (sizes[i] == bound ? outside : inside).push_back(at[i]);
      if (sizes[i] != bound) inside_sizes.push_back(sizes[i]);
    }
    if (outside.size() < 2) continue;
    const auto fit = fit_exactly(inside, inside_sizes);
    if (!fit) continue;
    const auto values = evaluate(fit->formula, shapes_.subset(outside));
    if (values &&
        std::ranges::all_of(*values, [&](Size value) { return is_upper ? value >= bound : value <= bound; }))
      return Expression::apply(is_upper ? Operation::min : Operation::max, {fit->formula, Expression(bound)});
  }
  return std::nullopt;
}

// Returns whether shapes that differ only in this axis, with 0 and another value, have different sizes. True
// if there are no such shapes.
bool Fitters::may_depend_on_zero(const Shapes::Axis& axis, const Indices& at,
                                 const std::vector<Size>& sizes) const {
  const auto differ_in_axis_only = [&](std::size_t one, std::size_t other) {
    return std::ranges::all_of(shapes_.axes, [&](const Shapes::Axis& any) {
      return any.name == axis.name || any.values[one] == any.values[other];
    });
  };
  bool is_known = false;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (axis.values[at[i]] != 0) continue;
    for (std::size_t j = 0; j < at.size(); ++j) {
      if (axis.values[at[j]] == 0 || !differ_in_axis_only(at[i], at[j])) continue;
      if (sizes[i] != sizes[j]) return true;
      is_known = true;
    }
  }
  return !is_known;
}

// Finds one formula where an axis is 0, and another where it is not. If only one of the two is found, it
// becomes the `part` of the figure.
std::optional<Expression> Fitters::fit_cases(const Indices& at, const std::vector<Size>& sizes,
                                             Figure& figure) {
  for (const Shapes::Axis& axis : shapes_.axes) {
    Indices zero;
    Indices other;
    std::vector<Size> zero_sizes;
    std::vector<Size> other_sizes;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const bool is_zero = axis.values[at[i]] == 0;
      (is_zero ? zero : other).push_back(at[i]);
      (is_zero ? zero_sizes : other_sizes).push_back(sizes[i]);
    }
    if (zero.empty() || other.empty() || !may_depend_on_zero(axis, at, sizes)) continue;
    const auto of_zero = fit_exactly(zero, zero_sizes);
    const auto of_other = fit_exactly(other, other_sizes);
    if (of_zero && of_other)
      return Expression::apply(Operation::if_zero,
                               {Expression::axis(axis.name), of_zero->formula, of_other->formula});
    if (figure.part || (!of_zero && !of_other)) continue;
    figure.part = of_zero ? Figure::Part{of_zero->formula, fmt::format("{} is 0", axis.name)}
                          : Figure::Part{of_other->formula, fmt::format("{} is not 0", axis.name)};
  }
  return std::nullopt;
}

}  // namespace peakmark
