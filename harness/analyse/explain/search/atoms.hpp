#pragma once

#include <span>
#include <vector>

#include "analyse/explain/search/shapes.hpp"

namespace peakmark {

/// A length that a program may compute from its axes, and its value at each shape.
struct Atom {
  Expression expression;
  std::vector<Size> values;
  Size complexity = 0;
  std::vector<std::size_t> axes;  ///< the axes that it reads: indices into Shapes::axes
  bool is_linear = false;         ///< a sum of axes and integers, nothing rounded
};

/// Returns the lengths that are tried as factors, the simplest first: sums of up to three axes, the same
/// rounded, minimum and maximum of two axes, and choices by an axis whose 0 means "all". A length with the
/// values of an earlier one is omitted, and so are axes that never vary.
std::vector<Atom> candidate_atoms(const Shapes& shapes);

/// Returns the lengths for the shapes `at`, a subset, from the atoms of all shapes, which is faster.
/// `shapes`: the subset.
std::vector<Atom> candidate_atoms(const Shapes& shapes, const std::vector<Atom>& atoms_of_all,
                                  std::span<const std::size_t> at);

}  // namespace peakmark
