#pragma once

#include <optional>
#include <vector>

#include "statistics/shift.hpp"

namespace peakmark {

/// Two samples, and what scipy says of them (make_vectors.py).
struct RankVector {
  std::vector<double> first;
  std::vector<double> second;
  double u;
  double p;
  bool exact;
  double shift;  ///< second − first
  std::optional<Interval> interval;
};

inline const std::vector<RankVector>& rank_vectors() {
  static const std::vector<RankVector> vectors = {
#define RANK_VECTORS
#include "scipy_vectors.inc"
#undef RANK_VECTORS
  };
  return vectors;
}

}  // namespace peakmark
