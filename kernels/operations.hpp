#pragma once

#include "worker/variant.hpp"

namespace peakmark {

/// Adds every variant of every operation that peakmark ships.
void add_operations(Registry& registry);

}  // namespace peakmark
