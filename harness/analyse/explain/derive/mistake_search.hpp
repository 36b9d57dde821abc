#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analyse/explain/derive/estimate_causes.hpp"
#include "analyse/explain/derive/size_changes.hpp"

namespace peakmark {

/// A possible mistake of an estimator about some allocations of equal size, or about all.
struct Mistake {
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  EstimateCause::Kind kind = EstimateCause::Kind::missing;
  std::size_t of = kAll;  ///< index of the equal allocations; kAll: all allocations of the program
  ShapeSizes copies;      ///< number of affected allocations
  ShapeSizes difference;  ///< recorded minus estimated bytes
  int rank = 0;           ///< simple explanations first
  std::string reason;
  std::optional<Expression> each = {};  ///< the difference of one allocation; null: it has no known formula
};
using Mistakes = std::vector<Mistake>;

/// Mistakes that explain the difference of an estimator.
struct FoundMistakes {
  Mistakes mistakes;
  ShapeSizes rest;           ///< the difference that they do not explain; 0 at every shape: nothing
  bool is_overflow = false;  ///< `rest` are multiples of 2³²: the estimator computes in 32 bits
};

/// Finds the simplest mistakes whose differences add up to the difference of an estimator, byte for byte at
/// each shape.
///
/// A mistake omits some of several equal allocations, counts some too often, or computes them with another
/// size (SizeChange). Single mistakes and pairs are looked up by their difference. Mistakes can also be
/// composed: first all allocations change, then a mistake affects the changed ones; the last of three is
/// looked up. `axes`: the shapes of the sizes. `estimated`: the estimated bytes, for mistakes that leave a
/// constant or an overflow; empty: only mistakes that explain the whole difference are found.
FoundMistakes find_mistakes(const std::vector<EqualAllocations>& equal, const Shapes& axes,
                            const ShapeSizes& difference, const ShapeSizes& estimated = {});

}  // namespace peakmark
