#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "analyse/explain/search/prepared_shapes.hpp"

namespace peakmark::fitting {

/// Finds formulas for sizes that are a polynomial in the axes and in up to two rounded lengths.
class PolynomialSearch {
 public:
  PolynomialSearch(const PreparedShapes& prepared, const SizeProblem& problem)
      : prepared_(prepared), problem_(problem) {}

  /// Returns a polynomial in the axes and `lengths` that is exact. Sets `is_ambiguous` to whether other
  /// coefficients give the same sizes.
  [[nodiscard]] std::optional<Expression> polynomial(const std::vector<const Atom*>& lengths,
                                                     bool* is_ambiguous = nullptr) const;
  /// Returns the simplest polynomial with one rounded length, or with two.
  [[nodiscard]] std::optional<Expression> rounded_polynomial() const;
  /// Returns the constant c if sizes = c + k · length on every line of an axis that the length reads.
  [[nodiscard]] std::optional<Size> constant_beside(const Atom& length) const;

 private:
  struct Monomial;
  struct Variable;
  class LengthFilter;
  [[nodiscard]] std::vector<Variable> variables(const std::vector<const Atom*>& lengths) const;
  [[nodiscard]] std::vector<Monomial> monomials(const std::vector<Variable>& variables, int degree,
                                                int power) const;
  [[nodiscard]] std::optional<Residues> solve(const std::vector<Monomial>& columns, std::size_t stride,
                                              bool* is_ambiguous = nullptr) const;
  [[nodiscard]] bool has_evidence(const Expression& formula) const;
  [[nodiscard]] bool is_line_of_length(const AxisLine& line, const Atom& length) const;
  [[nodiscard]] bool is_line_of_length_and_axis(const AxisLine& line, const Atom& length) const;
  [[nodiscard]] bool fits_lines(const Atom& length, bool with_axis) const;
  [[nodiscard]] std::vector<std::size_t> rough_axes() const;
  [[nodiscard]] std::optional<Expression> rounded_polynomial(bool with_axis) const;

  const PreparedShapes& prepared_;
  const SizeProblem& problem_;
};

}  // namespace peakmark::fitting
