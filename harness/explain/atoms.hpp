#pragma once

#include <span>
#include <vector>

#include "explain/shapes.hpp"

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
/// first: sums of up to three axes, these rounded, minimum and maximum of two axes, and choices by an axis
/// whose 0 means "all". Axes that never vary are left out.
std::vector<Atom> candidate_atoms(const Shapes& shapes);

/// The same for the shapes `at` of these, from their atoms: faster. `shapes`: the subset.
std::vector<Atom> candidate_atoms(const Shapes& shapes, const std::vector<Atom>& atoms_of_all,
                                  std::span<const std::size_t> at);

}  // namespace peakmark
