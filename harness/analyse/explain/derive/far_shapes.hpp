#pragma once

#include <vector>

#include "analyse/explain/search/shapes.hpp"

namespace peakmark {

/// The maximum number of random shapes.
inline constexpr std::size_t kMaxFarShapes = 4096;
/// The maximum random length, as a multiple of the largest recorded one.
inline constexpr Size kFarFactor = 8192;

/// Returns random shapes, the same in each call, at which every formula has a value of at least 0. In each,
/// one, two or all axes of a recorded shape are replaced by values from 0 or 1 to far beyond the largest
/// recorded one. Axes with only the values 0 and 1 keep these, and an item size is always one of the recorded
/// ones.
Shapes far_shapes(const Shapes& recorded, const std::vector<Expression>& formulas);

}  // namespace peakmark
