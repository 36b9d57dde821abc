#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyse/explain/live_allocations.hpp"

namespace peakmark {

/// The bytes of allocations as a wrong estimator may compute them.
struct ChangedSize {
  ShapeSizes bytes;
  std::optional<Expression> formula;  ///< null if the formula of the change is unknown
};

/// A mistake that estimators make with the bytes of an allocation: `counted with 1/2 of its element size`.
class SizeChange {
 public:
  /// Returns the bytes after the change; null if it does not apply, or changes nothing. `axes`: the shapes of
  /// the sizes.
  using Apply = std::function<std::optional<ChangedSize>(const ShapeSizes& bytes,
                                                         const std::optional<Expression>& formula)>;
  SizeChange(std::string reason, int rank, Apply apply)
      : reason_(std::move(reason)), rank_(rank), apply_(std::move(apply)) {}

  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// Simple and frequent mistakes have the lowest rank.
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] std::optional<ChangedSize> apply(const ShapeSizes& bytes,
                                                 const std::optional<Expression>& formula) const;

 private:
  std::string reason_;
  int rank_;
  Apply apply_;
};

/// Returns the changes that are tried for shapes with these axes, the simplest first: other element sizes,
/// counting once instead of for each slice or the reverse, a wrong axis, ignored axes, omitted rounding, and
/// rounding that the program does not do.
std::vector<SizeChange> size_changes(const Shapes& axes);

}  // namespace peakmark
