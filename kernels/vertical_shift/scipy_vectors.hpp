#pragma once

#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// Stacks of radios (n_a, n_z, nx), where n_a is the number of shifts, shifted by scipy (make_vectors.py).
struct ScipyShift {
  Size n_z, nx;
  std::vector<float> shifts, radios, shifted;
};

inline const std::vector<ScipyShift>& scipy_shifts() {
  static const std::vector<ScipyShift> vectors{
#include "kernels/vertical_shift/scipy_vectors.inc"
  };
  return vectors;
}

/// The tolerance of nabu's own test, compared with scipy.
inline constexpr double kScipyTolerance = 1e-5;

}  // namespace peakmark
