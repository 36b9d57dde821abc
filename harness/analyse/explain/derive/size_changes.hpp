#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyse/explain/derive/live_allocations.hpp"

namespace peakmark {

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
