#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/fit.hpp"

namespace peakmark {

/// Returns the simplest condition on the axes that holds at exactly the shapes with `holds`: `flag is 1`,
/// `nx is odd`, `pad > ny`, `n is a multiple of 8`, `ny >= 45`. Empty if it holds at every shape. Null if
/// none is found, or only one shape has it or has it not: of a single shape much is true.
std::optional<std::string> find_condition(const Shapes& shapes, const std::vector<bool>& holds);

/// Returns `nx=2405`, a value between those of an axis that has the condition and those that has it not: a
/// shape with it narrows the limit. Null if no axis decides, or there is no value between.
std::optional<std::string> value_between(const Shapes& shapes, const std::vector<bool>& holds);

}  // namespace peakmark
