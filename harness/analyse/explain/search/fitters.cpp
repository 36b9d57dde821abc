#include "analyse/explain/search/fitters.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "measure/sweep/choose_shapes.hpp"

namespace peakmark {
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
