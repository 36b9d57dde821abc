#pragma once

#include <vector>

#include "base/shape.hpp"
#include "kernels/mul_add/region.hpp"

namespace peakmark {

/// One mul_add, as numpy computed it (make_vectors.py). All values are exact in float.
struct NumpyMulAdd {
  std::vector<Size> dst_shape;
  Region dst_region;
  std::vector<Size> other_shape;
  Region other_region;
  bool one_array;
  double a, b;
  std::vector<float> dst, other, result;  ///< `other` is empty where it is dst
};

inline const std::vector<NumpyMulAdd>& numpy_mul_adds() {
  static const std::vector<NumpyMulAdd> vectors{
#include "kernels/mul_add/numpy_vectors.inc"
  };
  return vectors;
}

}  // namespace peakmark
