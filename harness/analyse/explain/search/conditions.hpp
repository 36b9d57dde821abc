#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyse/explain/search/fit.hpp"

namespace peakmark {

/// Returns the simplest condition on the axes that is true at exactly the shapes with `holds`: `flag is 1`,
/// `nx is odd`, `pad > ny`, `n is a multiple of 8`, `ny >= 45`. Empty if `holds` is true at every shape. Null
/// if no condition is found, or if `holds` is true or false at a single shape only: too many conditions fit a
/// single shape.
std::optional<std::string> find_condition(const Shapes& shapes, const std::vector<bool>& holds);

/// Returns `nx=2405`, a value between the values of an axis where the condition is true and those where it is
/// false: recording it narrows the limit. Null if no single axis decides, or there is no value between.
std::optional<std::string> value_between(const Shapes& shapes, const std::vector<bool>& holds);

}  // namespace peakmark
