#pragma once

#include <cstddef>
#include <string>

#include "explain/shapes.hpp"

namespace peakmark {

/// Returns shapes that show more than `shapes`, which were recorded, as the user writes them: `n=6 ny=7
/// nx=11; n=5 ny=8 nx=11`. They differ from the smallest recorded one in one axis, as those that `explain`
/// chooses.
std::string shapes_to_add(const Shapes& shapes, std::size_t count);

}  // namespace peakmark
