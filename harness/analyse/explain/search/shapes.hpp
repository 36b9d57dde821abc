#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "measure/sweep/expression.hpp"

namespace peakmark {

/// Shapes at which sizes were recorded: the value of each axis in each shape. All axes have the same number
/// of values. Words (`mode`) are not axes here: each word is fitted separately.
struct Shapes {
  struct Axis {
    std::string name;
    std::vector<Size> values;  ///< one per shape
    bool operator==(const Axis&) const = default;
  };
  std::vector<Axis> axes;

  [[nodiscard]] std::size_t count() const { return axes.empty() ? 0 : axes.front().values.size(); }
  /// Returns nullptr if there is no such axis.
  [[nodiscard]] const Axis* axis(std::string_view name) const;
  /// Returns the value of each axis in a shape.
  [[nodiscard]] std::vector<Size> lengths(std::size_t shape) const;
  /// Adds a shape: a value for each axis.
  void add(const std::vector<Size>& lengths);
  /// Returns the shapes with these indices.
  [[nodiscard]] Shapes subset(std::span<const std::size_t> shapes) const;
  bool operator==(const Shapes&) const = default;
};

/// Returns `ny=31 nx=41`.
std::string shape_text(const Shapes& shapes, std::size_t shape);

/// Returns `n 5 to 4099, ny 7`: the smallest and the largest value of each axis.
std::string ranges_text(const Shapes& shapes);

/// Returns whether all values are equal, as for an axis that never varies.
bool is_constant(std::span<const Size> values);

/// Returns the value of a formula at a shape. Throws as Expression::evaluate() does, and UsageError for an
/// axis that the shapes do not have.
Size evaluate(const Expression& formula, const Shapes& shapes, std::size_t shape);

/// Returns the value of a formula at every shape; null if it has none at one of them.
std::optional<std::vector<Size>> evaluate(const Expression& formula, const Shapes& shapes);

}  // namespace peakmark
