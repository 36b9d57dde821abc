#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyse/explain/derive/allocation_groups.hpp"
#include "analyse/explain/derive/run_formulas.hpp"
#include "analyse/explain/search/shapes.hpp"

namespace peakmark {

// The allocations live at the peak of cases, as multisets: four arrays of the same size from one line count
// as four.

/// Live allocations at the peak that have the same name, call site and process.
struct LiveAllocations : AllocationOrigin {
  ShapeSizes each;   ///< bytes of one; 0 if none is live. If the sizes differ within a shape: bytes of all
  ShapeSizes count;  ///< number of live allocations

  /// Returns whether it is an input or output: estimators forget these less often than other allocations.
  [[nodiscard]] bool is_argument() const { return phase == "inputs" || phase == "outputs"; }
};

/// Allocations with the same bytes at every shape: from the bytes alone it cannot be decided which of them an
/// estimator means.
struct EqualAllocations {
  ShapeSizes each;
  ShapeSizes count;                   ///< sum over all members
  std::optional<Expression> formula;  ///< of the bytes of each, at the shapes where it is live
  std::vector<LiveAllocations> members;
};

/// Returns the allocations live at the peak of each shape.
std::vector<LiveAllocations> live_allocations(const RecordedCases& cases);

/// Groups allocations by their bytes.
std::vector<EqualAllocations> equal_allocations(const std::vector<LiveAllocations>& live,
                                                const RecordedCases& cases);

/// Returns the formula of sizes at the shapes where they are not 0; null if there is none. `shapes`: the
/// shapes of the sizes, as indices into the shapes of `cases`.
std::optional<Expression> formula_where_not_zero(const ShapeSizes& sizes, const RecordedCases& cases,
                                                 const std::vector<std::size_t>& shapes);

/// The bytes of allocations as a wrong estimator may compute them.
struct ChangedSize {
  ShapeSizes bytes;
  std::optional<Expression> formula;  ///< null if the formula of the change is unknown
};

/// A mistake that estimators make with the bytes of an allocation: `counted with 1/2 of its element size`.
struct SizeChange {
  std::string reason;
  int rank;  ///< simple and frequent mistakes have the lowest
  /// Returns the bytes after the change; null if it does not apply. Throws Error if there is no value at some
  /// shape, or if it does not fit 64 bits.
  std::function<std::optional<ChangedSize>(const ShapeSizes& bytes, const std::optional<Expression>& formula)>
      compute;

  /// Returns the bytes after the change; null if it does not apply, or changes nothing.
  [[nodiscard]] std::optional<ChangedSize> apply(const ShapeSizes& bytes,
                                                 const std::optional<Expression>& formula) const;
};

/// Returns the changes that are tried for shapes with these axes, which must outlive them, the simplest
/// first: other element sizes, counting once instead of for each slice or the reverse, a wrong axis, ignored
/// axes, omitted rounding, and rounding that the program does not do.
std::vector<SizeChange> size_changes(const Shapes& axes);

}  // namespace peakmark
