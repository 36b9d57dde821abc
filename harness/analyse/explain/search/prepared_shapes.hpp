#pragma once

#include <span>
#include <vector>

#include "analyse/explain/search/atoms.hpp"
#include "analyse/explain/search/modular.hpp"
#include "analyse/explain/search/shapes.hpp"

// Data and functions that the searches of Fitter share.
namespace peakmark::fitting {

/// Shapes that differ in one axis only: they show how sizes depend on this axis.
struct AxisLine {
  std::size_t axis;
  std::vector<std::size_t> rows;  ///< indices into PreparedShapes::fitted
};

/// Shapes, prepared for the search of formulas.
struct PreparedShapes {
  /// `candidates`: candidate_atoms(). `held_out`: indices of shapes that only test formulas.
  PreparedShapes(Shapes recorded, std::vector<Atom> candidates, const std::vector<std::size_t>& held_out);

  Shapes shapes;
  std::vector<std::size_t> fitted;  ///< shapes that are not held out
  std::vector<Atom> atoms;
  std::vector<AxisLine> lines;
};

/// Sizes, one per shape, whose formula is searched.
class SizeProblem {
 public:
  SizeProblem(const PreparedShapes& prepared, std::span<const Size> sizes);

  [[nodiscard]] std::span<const Size> sizes() const { return sizes_; }
  /// Returns the size modulo the prime at each of PreparedShapes::fitted.
  [[nodiscard]] const Residues& right() const { return right_; }
  [[nodiscard]] bool is_zero_somewhere() const;
  /// Returns whether the sizes are known not to depend on an axis.
  [[nodiscard]] bool is_idle(std::size_t axis) const { return idle_[axis]; }
  [[nodiscard]] bool reads_idle_axis(const Atom& atom) const;
  /// Returns whether the formula gives the size at every shape, including held-out ones.
  [[nodiscard]] bool is_exact(const Expression& formula) const;

 private:
  const PreparedShapes& prepared_;
  std::span<const Size> sizes_;
  Residues right_;
  std::vector<bool> idle_;
};

/// Returns whether sizes are known not to depend on any of some axes.
bool are_idle(const PreparedShapes& prepared, const std::vector<std::size_t>& axes,
              std::span<const Size> sizes);

/// Returns the complexity. An integer counts as many operations as its odd part has bits: 4096 is simpler
/// than 6355.
Size weight(const Expression& formula);
/// Returns whether a formula that gives each size is unlikely to be a coincidence. A constant and a product
/// of axes always are; any other formula if it has at most `evidence` parts, or is simple. An integer counts
/// as one part if the sizes have enough different values to prove it, else as many parts as its odd part has
/// bits.
bool is_shown(const Expression& formula, std::span<const Size> sizes, std::size_t evidence);

/// Returns a product in the order in which people write it: simple factors first, then by axis.
Expression product_in_order(const Shapes& shapes, const std::vector<Expression>& factors);

}  // namespace peakmark::fitting
