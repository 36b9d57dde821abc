#pragma once

#include <vector>

#include "explain/shapes.hpp"

namespace peakmark {

/// So many shapes are drawn at most.
inline constexpr std::size_t kMaxFarShapes = 4096;
/// The longest length that is drawn, as a multiple of the largest recorded one.
inline constexpr Size kFarFactor = 8192;

/// Returns shapes drawn at random, the same in each call, at which every formula has a value from 0 on: from
/// recorded shapes one, two or all axes take other values, from 0 or 1 to far beyond the largest recorded
/// one. Axes that are 0 or 1 stay so, and an item size stays one of the recorded ones.
Shapes far_shapes(const Shapes& recorded, const std::vector<Expression>& formulas);

}  // namespace peakmark
