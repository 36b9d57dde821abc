#pragma once

#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// A line of a sinogram filtered by numpy in float64 (make_vectors.py).
struct NumpyFilter {
  Size w, n_a;
  const char* filter;
  const char* mode;
  std::vector<float> line;
  std::vector<double> filtered;
};

inline const std::vector<NumpyFilter>& numpy_filters() {
  static const std::vector<NumpyFilter> vectors{
#include "kernels/filter/vectors.inc"
  };
  return vectors;
}

}  // namespace peakmark
