#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyse/explain/search/prepared_shapes.hpp"

namespace peakmark::fitting {

/// Finds formulas for sizes that are a coefficient times a product of up to three atoms, and such products
/// rounded up to a multiple of a power of two.
///
/// The fingerprint of values v is Π vᵢ^eᵢ modulo the prime, with random exponents that add up to 0: the
/// fingerprint of a product is the product of the fingerprints, independent of the coefficient. So the last
/// factor is looked up, not tried. Every result is verified at every shape.
class ProductSearch {
 public:
  explicit ProductSearch(const PreparedShapes& prepared);

  /// Return the simplest exact formula. For sizes that are 0 somewhere, only multiples of one atom are tried.
  [[nodiscard]] std::optional<Expression> product_of_two(const SizeProblem& problem) const;
  [[nodiscard]] std::optional<Expression> product_of_three(const SizeProblem& problem) const;
  /// Returns formulas such as 512 · ⌈12·ny·nx / 512⌉.
  [[nodiscard]] std::optional<Expression> aligned_product(const SizeProblem& problem) const;

  /// Returns the atoms that are not 0 at any shape, the simplest first.
  [[nodiscard]] const std::vector<const Atom*>& atoms() const { return atoms_; }

 private:
  struct Fingerprint {
    std::uint64_t value;
    std::uint64_t inverse;
  };
  [[nodiscard]] Fingerprint fingerprint(const Residues& values) const;
  [[nodiscard]] std::optional<Expression> multiple_of_one(const SizeProblem& problem) const;
  [[nodiscard]] bool is_known(std::uint64_t fingerprint) const {
    return low_bits_[fingerprint % low_bits_.size()] && by_fingerprint_.contains(fingerprint);
  }
  /// Sets `best` to a product of `others` and an atom with this fingerprint, if it is simpler.
  void take(const SizeProblem& problem, std::uint64_t fingerprint, const std::vector<const Atom*>& others,
            std::optional<Expression>& best) const;
  /// Returns the smallest and the largest coefficient with which a product, rounded up to `alignment`, may
  /// give the sizes; null if there is none.
  [[nodiscard]] std::optional<std::pair<Size, Size>> coefficients(const SizeProblem& problem,
                                                                  const std::vector<const Atom*>& factors,
                                                                  Size alignment) const;
  [[nodiscard]] std::optional<Expression> aligned(const SizeProblem& problem,
                                                  const std::vector<const Atom*>& factors,
                                                  Size alignment) const;

  const PreparedShapes& prepared_;
  std::vector<std::int64_t> exponents_;  // one per fitted shape
  std::vector<const Atom*> atoms_;
  std::vector<Fingerprint> fingerprints_;  // one per atom
  std::vector<std::size_t> linear_;        // indices of atoms
  std::unordered_map<std::uint64_t, const Atom*> by_fingerprint_;
  std::vector<bool> low_bits_;  // of these fingerprints: they exclude most others, and fit into the cache
};

}  // namespace peakmark::fitting
