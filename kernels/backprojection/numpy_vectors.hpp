#pragma once

#include <vector>

#include "kernels/backprojection/geometry.hpp"

namespace peakmark {

/// Sinograms (n_a, w) with values in [−1, 1) that float holds, and the regions of their slices, made by numpy
/// in float64 (make_vectors.py).
struct NumpyBackprojection {
  BackprojectionGeometry geometry;
  std::vector<double> sinogram, slice;
};

inline const std::vector<NumpyBackprojection>& numpy_backprojections() {
  static const std::vector<NumpyBackprojection> vectors{
#include "kernels/backprojection/numpy_vectors.inc"
  };
  return vectors;
}

}  // namespace peakmark
