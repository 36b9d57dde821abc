#pragma once

#include <map>
#include <vector>

#include "measure/sweep/expression.hpp"

namespace peakmark {

/// A sum of products of variables: the exponents of each variable, and the coefficient, which is not 0.
using Polynomial = std::map<std::vector<int>, Size>;

/// Returns a polynomial as a product if possible, else as a sum: `4·(a + b)·c` for 4ac + 4bc. `variables`:
/// the variable of each exponent.
Expression factored(const Polynomial& polynomial, const std::vector<Expression>& variables);

}  // namespace peakmark
