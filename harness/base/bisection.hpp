#pragma once

#include <limits>

#include "base/size.hpp"

namespace peakmark {

/// Returns the last number for which `holds` is true. It is true for `first`, false for `end` (which may be
/// smaller), and changes once in between; it is not called for these two.
template <typename Holds>
Size bisect(Size first, Size end, const Holds& holds) {
  while (end - first > 1 || first - end > 1) {
    const Size middle = first + (end - first) / 2;
    (holds(middle) ? first : end) = middle;
  }
  return first;
}

/// Returns the largest n ≥ 0 with fits(n), by doubling and bisection; the largest Size if all fit. `fits`
/// must be monotonic; fits(0) is not called.
template <typename Fits>
Size largest(const Fits& fits) {
  constexpr Size kMaxSize = std::numeric_limits<Size>::max();
  if (!fits(1)) return 0;
  Size fitting = 1;
  while (fitting <= kMaxSize / 2 && fits(2 * fitting)) fitting *= 2;
  return bisect(fitting, fitting <= kMaxSize / 2 ? 2 * fitting : kMaxSize, fits);
}

}  // namespace peakmark
