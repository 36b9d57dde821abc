#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/fit.hpp"

namespace peakmark {

/// Returns the simplest condition on the axes that holds at exactly the shapes with `holds`: `nx is odd`,
/// `pad > ny`, `n is a multiple of 8`, `ny >= 45`. Empty if it holds at every shape, null if none is found.
std::optional<std::string> find_condition(const Shapes& shapes, const std::vector<bool>& holds);

}  // namespace peakmark
