#include "analyse/explain/search/product_search.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <random>

namespace peakmark::fitting {
namespace {

// Maximum complexity of the second of three factors: `next_smooth(2 * w, 7)` has 5.
constexpr Size kMaxInnerComplexity = 7;
constexpr Size kMinAlignment = 16;
constexpr Size kMaxAlignment = 1 << 21;
// Size of an element of a vector of 16 complex numbers of 16 bytes each.
constexpr Size kMaxElement = 256;
constexpr std::size_t kBitsPerAtom = 32;
constexpr std::int64_t kMaxExponent = std::int64_t{1} << 24;

// Returns random exponents that add up to 0: differences of neighbours in a circle of random numbers.
std::vector<std::int64_t> random_exponents(std::size_t count) {
  std::mt19937_64 random(count);
  std::vector<std::int64_t> numbers(count);
  for (std::int64_t& number : numbers) number = static_cast<std::int64_t>(random() % kMaxExponent);
  std::vector<std::int64_t> exponents(count);
  for (std::size_t i = 0; i < count; ++i) exponents[i] = numbers[i] - numbers[(i + 1) % count];
  return exponents;
}

}  // namespace

ProductSearch::ProductSearch(const PreparedShapes& prepared)
    : prepared_(prepared), exponents_(random_exponents(prepared.fitted.size())) {
  for (const Atom& atom : prepared.atoms) {
    Residues values;
    values.reserve(prepared.fitted.size());
    for (const std::size_t shape : prepared.fitted) values.push_back(residue(atom.values[shape]));
    if (std::ranges::find(values, std::uint64_t{0}) != values.end()) continue;
    if (atom.is_linear) linear_.push_back(atoms_.size());
    atoms_.push_back(&atom);
    fingerprints_.push_back(fingerprint(values));
    by_fingerprint_.try_emplace(fingerprints_.back().value, &atom);
  }
  low_bits_.resize(std::bit_ceil(kBitsPerAtom * atoms_.size() + 1));
  for (const Fingerprint& one : fingerprints_) low_bits_[one.value % low_bits_.size()] = true;
}

ProductSearch::Fingerprint ProductSearch::fingerprint(const Residues& values) const {
  std::uint64_t above = 1;  // product of values with positive exponents
  std::uint64_t below = 1;
  for (std::int64_t bit = kMaxExponent; bit != 0; bit >>= 1) {
    above = multiply(above, above);
    below = multiply(below, below);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if ((std::abs(exponents_[i]) & bit) == 0) continue;
      std::uint64_t& side = exponents_[i] > 0 ? above : below;
      side = multiply(side, values[i]);
    }
  }
  // One inversion serves both.
  const std::uint64_t inverse_of_both = inverse(multiply(above, below));
  return {multiply(multiply(above, above), inverse_of_both),
          multiply(multiply(below, below), inverse_of_both)};
}

void ProductSearch::take(const SizeProblem& problem, std::uint64_t fingerprint,
                         const std::vector<const Atom*>& others, std::optional<Expression>& best) const {
  const auto found = by_fingerprint_.find(fingerprint);
  if (found == by_fingerprint_.end()) return;
  std::vector<Expression> factors{found->second->expression};
  const std::size_t shape = prepared_.fitted.front();
  Size product = found->second->values[shape];
  for (const Atom* const other : others) {
    factors.push_back(other->expression);
    if (__builtin_mul_overflow(product, other->values[shape], &product)) return;
  }
  if (product == 0 || problem.sizes()[shape] % product != 0) return;
  factors.emplace_back(problem.sizes()[shape] / product);
  Expression formula = product_in_order(prepared_.shapes, factors);
  if (best && formula.complexity() >= best->complexity()) return;
  if (problem.is_exact(formula)) best = std::move(formula);
}

// Fingerprints do not support 0, so each atom is compared.
std::optional<Expression> ProductSearch::multiple_of_one(const SizeProblem& problem) const {
  const std::span<const Size> sizes = problem.sizes();
  const auto is_not_zero = [](Size size) { return size != 0; };
  const auto first = static_cast<std::size_t>(std::ranges::find_if(sizes, is_not_zero) - sizes.begin());
  for (const Atom& atom : prepared_.atoms) {
    const Size value = atom.values[first];
    if (value == 0 || sizes[first] % value != 0 || problem.reads_idle_axis(atom)) continue;
    const Size coefficient = sizes[first] / value;
    const auto is_multiple = [&](std::size_t shape) {
      Size product = 0;
      return !__builtin_mul_overflow(atom.values[shape], coefficient, &product) && product == sizes[shape];
    };
    if (!std::ranges::all_of(prepared_.fitted, is_multiple)) continue;
    Expression formula = product_in_order(prepared_.shapes, {atom.expression, Expression(coefficient)});
    if (problem.is_exact(formula)) return formula;
  }
  return std::nullopt;
}

std::optional<Expression> ProductSearch::product_of_two(const SizeProblem& problem) const {
  if (problem.is_zero_somewhere()) return multiple_of_one(problem);
  std::optional<Expression> best;
  const std::uint64_t whole = fingerprint(problem.right()).value;
  take(problem, whole, {}, best);
  if (best) return best;
  for (std::size_t i = 0; i < atoms_.size(); ++i) {
    const Atom& one = *atoms_[i];
    if (best && one.complexity >= best->complexity()) break;
    const std::uint64_t rest = multiply(whole, fingerprints_[i].inverse);
    if (!is_known(rest) || problem.reads_idle_axis(one)) continue;
    take(problem, rest, {&one}, best);
  }
  return best;
}

std::optional<Expression> ProductSearch::product_of_three(const SizeProblem& problem) const {
  if (problem.is_zero_somewhere()) return std::nullopt;
  std::optional<Expression> best;
  const std::uint64_t whole = fingerprint(problem.right()).value;
  std::vector<std::size_t> second;
  for (std::size_t i = 0; i < atoms_.size(); ++i) {
    if (atoms_[i]->complexity > kMaxInnerComplexity) break;
    if (!problem.reads_idle_axis(*atoms_[i])) second.push_back(i);
  }
  for (const std::size_t one : linear_) {
    if (problem.reads_idle_axis(*atoms_[one])) continue;
    const std::uint64_t rest = multiply(whole, fingerprints_[one].inverse);
    for (const std::size_t two : second) {
      const std::uint64_t last = multiply(rest, fingerprints_[two].inverse);
      if (is_known(last)) take(problem, last, {atoms_[one], atoms_[two]}, best);
    }
    if (best) return best;
  }
  return best;
}

// The sizes bound the coefficient of each product from both sides.
std::optional<Expression> ProductSearch::aligned_product(const SizeProblem& problem) const {
  Size common = 0;
  for (const std::size_t shape : prepared_.fitted) common = std::gcd(common, problem.sizes()[shape]);
  if (common < kMinAlignment) return std::nullopt;
  const auto largest =
      std::min(Size{1} << std::countr_zero(static_cast<std::uint64_t>(common)), kMaxAlignment);
  if (largest < kMinAlignment) return std::nullopt;
  // A smaller alignment permits fewer sizes: products that do not fit the largest alignment fit none.
  std::vector<std::vector<const Atom*>> products;
  const auto add = [&](std::vector<const Atom*> factors) {
    if (coefficients(problem, factors, largest)) products.push_back(std::move(factors));
  };
  std::vector<const Atom*> linear;
  std::vector<const Atom*> axes;
  for (const std::size_t i : linear_) {
    if (problem.reads_idle_axis(*atoms_[i])) continue;
    linear.push_back(atoms_[i]);
    if (atoms_[i]->complexity == 1) axes.push_back(atoms_[i]);
  }
  for (std::size_t a = 0; a < linear.size(); ++a) {
    add({linear[a]});
    for (std::size_t b = a; b < linear.size(); ++b) {
      add({linear[a], linear[b]});
      if (linear[a]->complexity > 1 || linear[b]->complexity > 1) continue;
      for (const Atom* const third : axes) add({linear[a], linear[b], third});
    }
  }
  for (Size alignment = largest; alignment >= kMinAlignment; alignment /= 2) {
    for (const auto& factors : products) {
      if (auto found = aligned(problem, factors, alignment)) return found;
    }
  }
  return std::nullopt;
}

std::optional<std::pair<Size, Size>> ProductSearch::coefficients(const SizeProblem& problem,
                                                                 const std::vector<const Atom*>& factors,
                                                                 Size alignment) const {
  Size min = 1;
  Size max = kMaxElement;
  for (const std::size_t shape : prepared_.fitted) {
    Size product = 1;
    for (const Atom* const factor : factors) {
      if (__builtin_mul_overflow(product, factor->values[shape], &product)) return std::nullopt;
    }
    if (product <= 0) return std::nullopt;
    const Size size = problem.sizes()[shape];
    min = std::max(min, size < alignment ? 0 : (size - alignment) / product + 1);
    max = std::min(max, size / product);
    if (min > max) return std::nullopt;
  }
  return std::pair{min, max};
}

std::optional<Expression> ProductSearch::aligned(const SizeProblem& problem,
                                                 const std::vector<const Atom*>& factors,
                                                 Size alignment) const {
  constexpr Size kMaxTried = 8;
  const auto bounds = coefficients(problem, factors, alignment);
  if (!bounds) return std::nullopt;
  std::vector<Expression> parts;
  parts.reserve(factors.size());
  for (const Atom* const factor : factors) parts.push_back(factor->expression);
  const Size last = std::min(bounds->second, bounds->first + kMaxTried);
  for (Size coefficient = bounds->first; coefficient <= last; ++coefficient) {
    std::vector<Expression> rounded = parts;
    rounded.emplace_back(coefficient);
    Expression formula = Expression::multiply(
        {Expression(alignment),
         Expression::apply(Expression::Operation::divide_up,
                           {product_in_order(prepared_.shapes, rounded), Expression(alignment)})});
    if (problem.is_exact(formula)) return formula;
  }
  return std::nullopt;
}

}  // namespace peakmark::fitting
