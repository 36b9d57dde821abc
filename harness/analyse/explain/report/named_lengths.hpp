#pragma once

#include <string>
#include <vector>

#include "measure/sweep/expression.hpp"

namespace peakmark {

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
