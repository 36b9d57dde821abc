#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "measure/sweep/expression.hpp"

namespace peakmark {

/// Returns the formula and all its operands, and theirs, each before its operands.
std::vector<Expression> parts(const Expression& formula);

/// Returns a formula in which some of its parts, such as axes, are replaced.
using Replacement = std::pair<Expression, Expression>;  ///< a part, and its replacement
Expression replaced(const Expression& formula, const std::vector<Replacement>& replacements);

/// Returns both formulas without their common terms and factors, for a condition such as `2·n > w`: 4·ny·nx
/// + 8·ny·n and 4·ny·nx + 4·ny·w become 2·n and w.
std::pair<Expression, Expression> without_common_parts(const Expression& one, const Expression& other);

/// Returns the expression without divisions that have no remainder according to `is_exact`: 8·⌈x / 2⌉ becomes
/// 4·x.
Expression without_exact_divisions(
    const Expression& formula, const std::function<bool(const Expression& dividend, Size divisor)>& is_exact);

/// Returns the expression without its roundings: 512·⌈x / 512⌉, next_pow2(x) and next_smooth(x, 7) become x.
Expression without_rounding(const Expression& formula);

/// A sum of products of variables: the exponents of each variable, and the coefficient, which is not 0.
using Polynomial = std::map<std::vector<int>, Size>;

/// Returns a polynomial as a product if possible, else as a sum: `4·(a + b)·c` for 4ac + 4bc. `variables`:
/// the variable of each exponent.
Expression factored(const Polynomial& polynomial, const std::vector<Expression>& variables);

/// A part of formulas with its own name: `Hp = ny + pad_y0 + pad_y1`.
struct NamedLength {
  std::string name;
  Expression length;
};

/// Returns sums of axes, and rounded lengths, that occur more than once in `formulas`, and also outside of
/// longer ones, largest first. A sum of ny or nx and pads is called Hp or Wp; other lengths are called L1, L2
/// and so on. No name equals that of an axis.
std::vector<NamedLength> find_named_lengths(const std::vector<Expression>& formulas);

/// Returns the formula with the names in place of the lengths.
Expression with_names(const Expression& formula, const std::vector<NamedLength>& lengths);

}  // namespace peakmark
