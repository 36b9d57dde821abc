#pragma once

#include <map>
#include <vector>

#include "sweep/expression.hpp"

namespace peakmark {

/// A sum of products of variables: the exponents of each variable, and the coefficient, which is not 0.
using Polynomial = std::map<std::vector<int>, Size>;

/// Writes a polynomial as a product where it is one, else as a sum: `4·(a + b)·c` for 4ac + 4bc. `variables`:
/// what each exponent belongs to.
Expression factored(const Polynomial& polynomial, const std::vector<Expression>& variables);

}  // namespace peakmark
