#pragma once

#include <cstddef>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// Bytes, or a number of allocations, at each of some shapes.
using ShapeSizes = std::vector<Size>;

/// Compute shape by shape. Throw OverflowError.
ShapeSizes add(const ShapeSizes& one, const ShapeSizes& other);
ShapeSizes subtract(const ShapeSizes& one, const ShapeSizes& other);
ShapeSizes multiply(const ShapeSizes& one, const ShapeSizes& other);
ShapeSizes negated(ShapeSizes sizes);

bool is_zero(const ShapeSizes& sizes);

struct ShapeSizesHash {
  std::size_t operator()(const ShapeSizes& sizes) const;
};

/// Returns the number of allocations at the shapes where it is not 0; 0 if it differs between these.
Size fixed_number(const ShapeSizes& numbers);

}  // namespace peakmark
