#pragma once

#include <cstddef>
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

/// Bytes, or a number of allocations, at each of some shapes.
using ShapeSizes = std::vector<Size>;

/// Compute shape by shape. Throw OverflowError.
ShapeSizes add(const ShapeSizes& one, const ShapeSizes& other);
ShapeSizes subtract(const ShapeSizes& one, const ShapeSizes& other);
ShapeSizes multiply(const ShapeSizes& one, const ShapeSizes& other);
ShapeSizes negated(ShapeSizes sizes);

bool is_zero(const ShapeSizes& sizes);

struct ShapeSizesHash {
  std::size_t operator()(const ShapeSizes& sizes) const;
};

/// Returns the number of allocations at the shapes where it is not 0; 0 if it differs between these.
Size fixed_number(const ShapeSizes& numbers);

/// Returns shapes that would show more than the recorded `shapes`, in the user's spelling: `n=6 ny=7 nx=11;
/// n=5 ny=8 nx=11`. They differ from the smallest recorded one in one axis, like those that `explain`
/// chooses.
std::string shapes_to_add(const Shapes& shapes, std::size_t count);

}  // namespace peakmark
