#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "sweep/expression.hpp"

namespace peakmark {

/// Returns a formula in which some of its parts, such as axes, are replaced.
using Replacement = std::pair<Expression, Expression>;  ///< a part, and what takes its place
Expression replaced(const Expression& formula, const std::vector<Replacement>& replacements);

/// Returns both formulas without their common terms and factors, for a condition such as `8·n > 4·w`: for
/// 4·ny·nx + 8·ny·n and 4·ny·nx + 4·ny·w it is 8·n and 4·w, less their common factor 4.
std::pair<Expression, Expression> without_common_parts(const Expression& one, const Expression& other);

/// Returns the expression without the divisions of products that `is_exact` says have no remainder:
/// 8·⌈x / 2⌉ as 4·x.
Expression without_exact_divisions(
    const Expression& formula, const std::function<bool(const Expression& dividend, Size divisor)>& is_exact);

/// Returns the expression without its roundings: 512·⌈x / 512⌉ as x, next_pow2(x) and next_smooth(x, 7) as x.
Expression without_rounding(const Expression& formula);

}  // namespace peakmark
