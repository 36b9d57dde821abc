#pragma once

#include <map>
#include <optional>
#include <vector>

#include "analyse/explain/search/shapes.hpp"

namespace peakmark {

/// Proves that one formula is never less than another: their expanded difference has no negative term. Axes
/// are assumed to be at least 0, or at least 1 if all recorded values are.
class FormulaOrder {
 public:
  /// A polynomial with non-negative factors: maps each product of factor indices to its coefficient.
  using Sum = std::map<std::vector<std::size_t>, Size>;

  explicit FormulaOrder(const Shapes& recorded) : recorded_(recorded) {}

  /// Returns the expanded formula; null if it is too long.
  std::optional<Sum> multiplied_out(const Expression& formula);
  /// Returns whether a proof was found that `one` is at least `other` everywhere.
  [[nodiscard]] bool is_never_less(const Sum& one, const Sum& other) const;

 private:
  struct Part {
    Expression expression;
    bool has_lower_bound = false;
  };
  std::optional<Size> lower_bound(const Expression& formula);
  Sum part(const Expression& formula);

  const Shapes& recorded_;
  std::vector<Part> parts_;  ///< an axis, or a rounded or chosen length, minus its lower bound
};

/// The maximum number of random shapes.
inline constexpr std::size_t kMaxFarShapes = 4096;
/// The maximum random length, as a multiple of the largest recorded one.
inline constexpr Size kFarFactor = 8192;

/// Returns random shapes, the same in each call, at which every formula has a value of at least 0. In each,
/// one, two or all axes of a recorded shape are replaced by values from 0 or 1 to far beyond the largest
/// recorded one. Axes with only the values 0 and 1 keep these, and an item size is always one of the recorded
/// ones.
Shapes far_shapes(const Shapes& recorded, const std::vector<Expression>& formulas);

}  // namespace peakmark
