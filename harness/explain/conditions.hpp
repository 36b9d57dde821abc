#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "explain/fit.hpp"

namespace peakmark {

/// Returns the simplest condition on the axes that holds at exactly the shapes with `holds`: `nx is odd`,
/// `pad > ny`, `n is a multiple of 8`, `ny >= 45`. Empty if it holds at every shape, null if none is found.
std::optional<std::string> find_condition(const Shapes& shapes, const std::vector<bool>& holds);

/// Returns both formulas without their common terms and factors, for a condition such as `8·n > 4·w`: for
/// 4·ny·nx + 8·ny·n and 4·ny·nx + 4·ny·w it is 8·n and 4·w, less their common factor 4.
std::pair<Expression, Expression> without_common_parts(const Expression& one, const Expression& other);

}  // namespace peakmark
