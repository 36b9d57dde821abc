#pragma once

#include <vector>

#include "worker/variant.hpp"

namespace peakmark {

/// padding/coords2d (old), padding/coords1d (new), padding/computed (next), in this order.
std::vector<Variant> padding_variants();

void add_padding(Registry& registry);

}  // namespace peakmark
