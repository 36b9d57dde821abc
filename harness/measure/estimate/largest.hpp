#pragma once

#include <limits>

#include "base/size.hpp"

namespace peakmark {

/// Returns the largest n ≥ 0 with fits(n), by doubling and bisection; the largest Size if all fit. `fits`
/// must be monotonic; fits(0) is not called.
template <typename Fits>
Size largest(Fits fits) {
  constexpr Size kMaxSize = std::numeric_limits<Size>::max();
  if (!fits(1)) return 0;
  Size fitting = 1;
  while (fitting <= kMaxSize / 2 && fits(2 * fitting)) fitting *= 2;
  Size failing = fitting <= kMaxSize / 2 ? 2 * fitting : kMaxSize;
  while (failing - fitting > 1) {
    const Size middle = fitting + (failing - fitting) / 2;
    (fits(middle) ? fitting : failing) = middle;
  }
  return fitting;
}

}  // namespace peakmark
