#pragma once

#include <utility>
#include <vector>

#include "worker/variant.hpp"

namespace peakmark {

/// padding/coords2d (old), padding/coords1d (new), padding/computed (next), in this order.
std::vector<Variant> padding_variants();

inline void add_padding(Registry& registry) {
  for (Variant& variant : padding_variants()) registry.add(std::move(variant));
}

}  // namespace peakmark
