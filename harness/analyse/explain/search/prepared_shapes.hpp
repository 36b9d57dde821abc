#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analyse/explain/search/atoms.hpp"
#include "analyse/explain/search/shapes.hpp"
#include "base/size.hpp"

// Data and functions that the searches of Fitter share.
namespace peakmark::fitting {

// Linear equations modulo a prime, for the search of formulas.

// Equations are solved modulo this prime, 2^61 - 1, which is fast. No error can result: every solution is
// then verified with integers at every shape.
constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

inline std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  const auto sum = static_cast<std::uint64_t>(product & kPrime) + static_cast<std::uint64_t>(product >> 61);
  return sum >= kPrime ? sum - kPrime : sum;
}
inline std::uint64_t subtract(std::uint64_t a, std::uint64_t b) {
  return a >= b ? a - b : a + kPrime - b;
}
inline std::uint64_t residue(Size value) {
  const auto rest = value % static_cast<Size>(kPrime);
  return static_cast<std::uint64_t>(rest < 0 ? rest + static_cast<Size>(kPrime) : rest);
}
inline std::uint64_t inverse(std::uint64_t value) {
  std::uint64_t result = 1;
  for (std::uint64_t exponent = kPrime - 2; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = multiply(result, value);
    value = multiply(value, value);
  }
  return result;
}
// Returns the integer of smallest magnitude with this residue; null if it is too large for a coefficient.
inline std::optional<Size> small_integer(std::uint64_t value) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 50;
  if (value <= kMax) return static_cast<Size>(value);
  if (kPrime - value <= kMax) return -static_cast<Size>(kPrime - value);
  return std::nullopt;
}

using Residues = std::vector<std::uint64_t>;

// Solves columns · x = right side exactly. Columns that depend on earlier ones get 0, so add simple columns
// first.
class Elimination {
 public:
  enum class Keep : unsigned char { solution, span };
  // `span`: supports only has_solution(), in about half the time.
  explicit Elimination(std::size_t rows, Keep keep = Keep::solution) : rows_(rows), keep_(keep) {}

  // Returns false if the column depends on earlier ones.
  bool add_column(Residues column) {
    ++columns_;
    if (keep_ == Keep::solution) {
      column.resize(rows_ + columns_, 0);
      column.back() = 1;
    }
    reduce(column);
    const std::size_t pivot = first_not_zero(column);
    if (pivot == rows_) return false;
    const std::uint64_t scale = inverse(column[pivot]);
    for (auto& value : column) value = multiply(value, scale);
    basis_.push_back({pivot, std::move(column)});
    return true;
  }

  [[nodiscard]] bool has_solution(Residues right) const {
    reduce(right);
    return first_not_zero(right) == rows_;
  }

  // Returns null if there is no solution.
  [[nodiscard]] std::optional<Residues> solve(Residues right) const {
    right.resize(rows_ + columns_, 0);
    reduce(right);
    if (first_not_zero(right) != rows_) return std::nullopt;
    Residues solution(right.begin() + static_cast<std::ptrdiff_t>(rows_), right.end());
    for (auto& value : solution) value = subtract(0, value);
    return solution;
  }

 private:
  // The values of a column, followed by its coefficients as a combination of the added columns.
  struct Row {
    std::size_t pivot;
    Residues values;
  };

  [[nodiscard]] std::size_t first_not_zero(const Residues& values) const {
    std::size_t row = 0;
    while (row < rows_ && values[row] == 0) ++row;
    return row;
  }
  void reduce(Residues& values) const {
    for (const Row& row : basis_) {
      const std::uint64_t factor = values[row.pivot];
      if (factor == 0) continue;
      const std::size_t end = std::min(values.size(), row.values.size());
      for (std::size_t i = row.pivot; i < end; ++i)
        values[i] = subtract(values[i], multiply(factor, row.values[i]));
    }
  }

  std::size_t rows_;
  Keep keep_;
  std::size_t columns_ = 0;
  std::vector<Row> basis_;
};

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
