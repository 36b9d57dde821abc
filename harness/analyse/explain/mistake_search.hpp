#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyse/explain/against.hpp"
#include "analyse/explain/live_allocations.hpp"

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

/// Finds mistakes whose differences add up to the difference of an estimator, byte for byte at each shape.
///
/// A mistake omits some of several equal allocations, counts some too often, or computes them with another
/// size (SizeChange). Single mistakes and pairs are looked up by their difference. Mistakes can also be
/// composed: first all allocations change, then a mistake affects the changed ones; the last of three is
/// looked up.
class MistakeSearch {
 public:
  /// `equal` and `axes` must outlive this object. `axes`: the shapes of the sizes.
  MistakeSearch(const std::vector<EqualAllocations>& equal, const Shapes& axes);
  ~MistakeSearch();
  MistakeSearch(const MistakeSearch&) = delete;
  MistakeSearch& operator=(const MistakeSearch&) = delete;

  /// Return the simplest mistakes that explain the whole difference; empty if there are none. The second
  /// function takes much longer.
  [[nodiscard]] Mistakes find_simple(const ShapeSizes& difference) const;
  [[nodiscard]] Mistakes find_composed(const ShapeSizes& difference) const;

  /// Returns mistakes that explain the difference up to a multiple of 2³² at some shapes, and sets `lost` to
  /// these bytes: the estimator computes in 32 bits.
  [[nodiscard]] std::optional<Mistakes> find_overflow(const ShapeSizes& difference,
                                                      const ShapeSizes& recorded, const ShapeSizes& estimated,
                                                      ShapeSizes& lost) const;

  /// Returns a mistake that leaves only a constant difference; null if there is none.
  [[nodiscard]] const Mistake* find_beside_constant(const ShapeSizes& difference) const;

 private:
  class Search;
  std::unique_ptr<const Search> search_;
};

}  // namespace peakmark
