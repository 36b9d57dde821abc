#pragma once

#include <vector>

#include "explain/fit.hpp"

namespace peakmark {

/// A length that a program may compute from its axes, and its value at each shape.
struct Atom {
  Expression expression;
  std::vector<Size> values;
  Size complexity = 0;
  std::vector<std::size_t> axes;  ///< that it reads: indices into Shapes::axes
  bool is_linear = false;         ///< a sum of axes and integers, nothing rounded
};

/// Returns the lengths that are tried as factors, each with other values than all before it, the simplest
/// first: sums of up to three axes, these rounded, minimum and maximum of two axes. Axes that never vary are
/// left out.
std::vector<Atom> candidate_atoms(const Shapes& shapes);

}  // namespace peakmark
