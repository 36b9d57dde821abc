#pragma once

#include <cstddef>
#include <string>

#include "analyse/explain/search/shapes.hpp"

namespace peakmark {

/// Returns shapes that would show more than the recorded `shapes`, in the user's spelling: `n=6 ny=7 nx=11;
/// n=5 ny=8 nx=11`. They differ from the smallest recorded one in one axis, like those that `explain`
/// chooses.
std::string shapes_to_add(const Shapes& shapes, std::size_t count);

}  // namespace peakmark
