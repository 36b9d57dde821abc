#include "analyse/explain/search/atoms.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyse/explain/search/shapes.hpp"
#include "base/error.hpp"

namespace peakmark {
namespace {

using Operation = Expression::Operation;

// Multiples to which programs round: vector widths, warps, alignments of 64 to 4096 bytes, halves of a
// spectrum.
constexpr std::array<Size, 14> kDivisors{2, 3, 4, 5, 6, 8, 10, 16, 32, 64, 128, 256, 512, 1024};
// Pads and halos of a fixed length; 1 and 2 are in all sums.
constexpr std::array<Size, 34> kPads{3,   4,   5,   6,   7,   8,   9,   10,  12,  14,  15, 16,
                                     20,  24,  30,  31,  32,  40,  48,  50,  60,  63,  64, 96,
                                     100, 127, 128, 192, 200, 255, 256, 500, 512, 1024};
constexpr Size kMaxSmallLimit = 64;
constexpr std::array<Size, 8> kDecimalLimits{80, 96, 100, 200, 250, 500, 1000, 2000};
// VkFFT computes lengths of factors up to 13 directly, cuFFT up to 7, scipy up to 11 (complex) or 5 (real).
constexpr std::array<Size, 5> kLargestPrimes{3, 5, 7, 11, 13};

// An expression with its values. Values are computed from those of the operands, which is a hundred times as
// fast as evaluating the expression at each shape.
struct Length {
  Expression expression;
  ShapeSizes values;  // empty: it has no value at some shape
  Size complexity = 0;
};

// Computes at each shape; returns whether there is a value at all of them.
bool compute(Operation operation, const ShapeSizes& one, const ShapeSizes& other, ShapeSizes& result) {
  if (one.empty() || other.empty()) return false;
  result.resize(one.size());
  try {
    for (std::size_t i = 0; i < one.size(); ++i) result[i] = compute(operation, one[i], other[i]);
  } catch (const Error&) {
    return false;
  }
  return true;
}

Length with_values(Operation operation, const Length& one, const Length& other, Expression expression) {
  Length length{std::move(expression), {}, 0};
  length.complexity = length.expression.complexity();
  if (!compute(operation, one.values, other.values, length.values)) length.values.clear();
  return length;
}

Length constant(Size value, const Length& like) {
  return {Expression(value), ShapeSizes(like.values.size(), value), 1};
}
Length operator+(const Length& one, const Length& other) {
  return with_values(Operation::add, one, other, Expression::add({one.expression, other.expression}));
}
Length operator+(const Length& one, Size value) {
  return one + constant(value, one);
}
Length operator*(const Length& one, const Length& other) {
  return with_values(Operation::multiply, one, other,
                     Expression::multiply({one.expression, other.expression}));
}
Length operator*(Size factor, const Length& one) {
  return constant(factor, one) * one;
}
Length apply(Operation operation, const Length& one, const Length& other) {
  return with_values(operation, one, other, Expression::apply(operation, {one.expression, other.expression}));
}
Length apply(Operation operation, const Length& one, Size value) {
  return apply(operation, one, constant(value, one));
}
Length next_pow2(const Length& one) {
  return with_values(Operation::next_pow2, one, one,
                     Expression::apply(Operation::next_pow2, {one.expression}));
}

class Collector {
 public:
  explicit Collector(const Shapes& shapes) : shapes_(shapes) {}

  // Adds a length if it has values, and no simpler one has the same values.
  void add(const Length& length, bool is_linear = false) {
    if (!length.values.empty())
      add(length.values, length.complexity, is_linear, [&] { return length.expression; });
  }
  // Adds an operation on two lengths. The expression is created only if it is added.
  void add(Operation operation, const Length& one, const Length& other) {
    if (!compute(operation, one.values, other.values, scratch_)) return;
    add(scratch_, 1 + one.complexity + other.complexity, false, [&] {
      return Expression::apply(operation, {one.expression, other.expression});
    });
  }
  // Adds a choice: `zero` if an axis is 0, else `other`.
  void add_choice(const Length& axis, const Length& zero, const Length& other) {
    if (zero.values.empty() || other.values.empty()) return;
    scratch_.resize(axis.values.size());
    for (std::size_t i = 0; i < scratch_.size(); ++i)
      scratch_[i] = axis.values[i] == 0 ? zero.values[i] : other.values[i];
    add(scratch_, 1 + axis.complexity + zero.complexity + other.complexity, false, [&] {
      return Expression::apply(Operation::if_zero, {axis.expression, zero.expression, other.expression});
    });
  }

  // Adds an atom for some of its shapes.
  void add_subset(const Atom& atom, std::span<const std::size_t> at) {
    scratch_.resize(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) scratch_[i] = atom.values[at[i]];
    add(scratch_, atom.complexity, atom.is_linear, [&] { return atom.expression; });
  }

  std::vector<Atom> take() {
    std::ranges::stable_sort(atoms_, {}, &Atom::complexity);
    return std::move(atoms_);
  }

 private:
  template <typename MakeExpression>
  void add(const ShapeSizes& values, Size complexity, bool is_linear, const MakeExpression& expression) {
    if (is_constant(values)) return;
    const auto [known, is_new] = index_.try_emplace(values, atoms_.size());
    if (is_new) {
      atoms_.emplace_back();
    } else if (complexity >= atoms_[known->second].complexity) {
      return;
    }
    Expression made = expression();
    std::vector<std::size_t> axes = indices(made);
    atoms_[known->second] = {std::move(made), values, complexity, std::move(axes), is_linear};
  }

  [[nodiscard]] std::vector<std::size_t> indices(const Expression& expression) const {
    std::vector<std::size_t> found;
    // Axes that a choice reads only where its axis is 0 are left out: they usually vary where it is not 0, so
    // the sizes would seem not to depend on them.
    const bool is_choice = expression.operation() == Operation::if_zero;
    const Expression read =
        is_choice ? Expression::apply(Operation::add, {expression.operands()[0], expression.operands()[2]})
                  : expression;
    for (const std::string& name : read.axes())
      found.push_back(static_cast<std::size_t>(std::ranges::find(shapes_.axes, name, &Shapes::Axis::name) -
                                               shapes_.axes.begin()));
    return found;
  }

  const Shapes& shapes_;
  std::vector<Atom> atoms_;
  std::unordered_map<ShapeSizes, std::size_t, ShapeSizesHash> index_;  // of atoms, by their values
  ShapeSizes scratch_;
};

// Returns the values of axes that never vary, and their sums in pairs: a padded length is `nx + 128` if both
// pads are always 64. Small ones are tried anyway.
std::vector<Size> constant_lengths(const Shapes& shapes) {
  constexpr std::size_t kMaxConstants = 8;
  constexpr Size kMaxLength = Size{1} << 60;  // so that sums do not overflow
  std::vector<Size> values;
  for (const Shapes::Axis& axis : shapes.axes) {
    if (!axis.values.empty() && is_constant(axis.values))
      values.push_back(std::min(axis.values.front(), kMaxLength));
  }
  std::vector<Size> lengths;
  const auto add = [&](Size length) {
    if (length > 2 && lengths.size() < kMaxConstants && std::ranges::find(lengths, length) == lengths.end())
      lengths.push_back(length);
  };
  for (const Size value : values) add(value);
  for (std::size_t a = 0; a < values.size(); ++a) {
    for (std::size_t b = a + 1; b < values.size(); ++b) {
      add(values[a] + values[b]);
    }
  }
  return lengths;
}

// Makes the lengths of a set of shapes, and the lengths to which programs round them.
class Candidates {
 public:
  explicit Candidates(const Shapes& shapes) : shapes_(shapes), collector_(shapes) {
    for (const Shapes::Axis& axis : shapes.axes) {
      if (!is_constant(axis.values)) axes_.push_back({Expression::axis(axis.name), axis.values, 1});
    }
  }

  // Lengths that have a value only at some of the shapes are made again: ⌈n / chunk⌉ where chunk is not 0.
  std::vector<Atom> make_from(const std::vector<Atom>& atoms_of_all, std::span<const std::size_t> at) {
    for (const Atom& atom : atoms_of_all) collector_.add_subset(atom, at);
    add_pairs();
    return collector_.take();
  }

  std::vector<Atom> make() {
    make_sums();
    for (const Length& sum : sums_) collector_.add(sum, true);
    add_wide_margins();
    add_constant_pads();
    add_limits();
    add_lengths_for_transforms();
    add_quotients();
    add_halves();
    add_pairs();
    add_choices();
    return collector_.take();
  }

 private:
  // Adds a sum, and the sum plus each of the constants, from which rounded lengths are made.
  void add_sum(const Length& sum, std::initializer_list<Size> constants = {}) {
    if (sum.values.empty()) return;
    sums_.push_back(sum);
    for (const Size constant : constants) add_sum(sum + constant);
  }

  void make_sums() {
    for (const Length& axis : axes_) {
      add_sum(axis, {1, -1, 2, -2});
      add_sum(2 * axis, {1, -1});
    }
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      for (std::size_t b = 0; b < axes_.size(); ++b) {
        if (b == a) continue;
        if (a < b) {
          const Length sum = axes_[a] + axes_[b];
          add_sum(sum, {-1, 1});
          add_sum(2 * sum);
        }
        add_sum(axes_[a] + 2 * axes_[b], {-1});
        add_sum(axes_[a] + -1 * axes_[b], {1});
      }
    }
    for (const Size constant : constant_lengths(shapes_)) {
      for (std::size_t a = 0; a < axes_.size(); ++a) {
        add_sum(axes_[a] + constant);
        for (std::size_t b = a + 1; b < axes_.size(); ++b) add_sum(axes_[a] + axes_[b] + constant);
      }
    }
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      for (std::size_t b = a + 1; b < axes_.size(); ++b) {
        for (std::size_t c = b + 1; c < axes_.size(); ++c) add_sum(axes_[a] + axes_[b] + axes_[c]);
      }
    }
  }

  // Adds images with a margin of several radii on both sides: `nx + 4 * radius`. They are not rounded, so
  // there are few.
  void add_wide_margins() {
    for (const Size factor : {3, 4, 6}) {
      for (const Length& margin : axes_) {
        for (const Length& axis : axes_) {
          if (&axis != &margin) collector_.add(axis + factor * margin, true);
        }
      }
    }
  }

  // Adds axes with a pad or halo of a fixed length: `nx + 64`. They are not rounded either.
  void add_constant_pads() {
    for (const Length& axis : axes_) {
      for (const Size pad : kPads) collector_.add(axis + pad, true);
    }
  }

  // Adds lengths that never exceed a constant, such as a chunk of at most 7 slices, or never fall below it.
  // On both sides of the limit at least two lengths must have been recorded; otherwise any sizes would show
  // some limit.
  void add_limits() {
    for (const Length& axis : axes_) {
      const std::set<Size> lengths(axis.values.begin(), axis.values.end());
      for (const Size limit : limits(lengths)) {
        const auto least_above = lengths.lower_bound(limit);
        if (std::distance(lengths.begin(), least_above) < 2 || std::distance(least_above, lengths.end()) < 2)
          continue;
        collector_.add(Operation::min, axis, constant(limit, axis));
        collector_.add(Operation::max, axis, constant(limit, axis));
      }
    }
  }

  // Returns all small integers, the larger ones that people write, and the recorded lengths.
  static std::set<Size> limits(const std::set<Size>& lengths) {
    std::set<Size> all(lengths);
    for (Size limit = 2; limit <= kMaxSmallLimit; ++limit) all.insert(limit);
    for (Size power = kMaxSmallLimit; power < *lengths.rbegin(); power *= 2) all.insert(power);
    all.insert(kDecimalLimits.begin(), kDecimalLimits.end());
    return all;
  }

  // Returns whether a sum has an integer or a difference: `nx + 1`, `ny - nx`.
  static bool has_integer_term(const Expression& length) {
    return length.operation() == Operation::add &&
           std::ranges::any_of(length.operands(), [](const Expression& term) {
             return term.operation() == Operation::integer ||
                    (term.operation() == Operation::multiply && term.operands()[0].is_integer(-1));
           });
  }

  void add_lengths_for_transforms() {
    const auto add_rounded = [&](const Length& rounded) {
      if (!rounded.values.empty()) rounded_.push_back(rounded);
    };
    for (const Length& length : sums_) {
      add_rounded(next_pow2(length));
      for (const Size prime : kLargestPrimes) add_rounded(apply(Operation::next_smooth, length, prime));
    }
    for (const Length& length : rounded_) collector_.add(length);
    // FFTs of real data need even lengths, vectorised ones multiples of 4: the factor is rounded.
    for (const Size multiple : {2, 4}) {
      for (const Length& length : sums_) {
        if (has_integer_term(length.expression)) continue;
        const Length factor = apply(Operation::divide_up, length, multiple);
        for (const Size prime : kLargestPrimes) {
          const Length smooth = apply(Operation::next_smooth, factor, prime);
          collector_.add(smooth);
          // The spectrum of a real signal has half of its length plus one.
          collector_.add(smooth + 1);
          collector_.add(2 * smooth + 1);
        }
      }
    }
  }

  // Divides the sums, and products of two or three axes, as pitches and aligned totals need.
  void add_quotients() {
    std::vector<Length> dividends = sums_;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      for (std::size_t b = a; b < axes_.size(); ++b) {
        dividends.push_back(axes_[a] * axes_[b]);
        for (std::size_t c = b + 1; c < axes_.size(); ++c)
          dividends.push_back(axes_[a] * axes_[b] * axes_[c]);
      }
    }
    for (const Size number : kDivisors) {
      for (const Length& dividend : dividends) {
        const Length divisor = constant(number, dividend);
        collector_.add(Operation::divide_up, dividend, divisor);
        collector_.add(Operation::divide_down, dividend, divisor);
      }
    }
    for (const Size divisor : {2, 3, 4, 8, 16, 32}) {
      for (const Length& axis : axes_) collector_.add(Operation::remainder, axis, constant(divisor, axis));
    }
  }

  void add_halves() {
    for (const auto* const list : std::array{&std::as_const(sums_), &std::as_const(rounded_)}) {
      for (const Length& length : *list) {
        const Length half = apply(Operation::divide_down, length, 2);
        collector_.add(half);
        collector_.add(half + 1);
      }
    }
  }

  void add_pairs() {
    for (const Length& a : axes_) {
      for (const Length& b : axes_) {
        if (&a == &b) continue;
        if (std::ranges::all_of(b.values, [](Size value) { return value > 0; })) {
          const Length chunks = apply(Operation::divide_up, a, b);
          collector_.add(chunks);
          collector_.add(Operation::divide_down, a, b);
          collector_.add(Operation::remainder, a, b);
          // The last of the chunks of b that cover a.
          collector_.add(a + -1 * b * (chunks + -1));
        }
        if (a.expression.name() < b.expression.name()) {
          collector_.add(Operation::min, a, b);
          collector_.add(Operation::max, a, b);
        }
      }
    }
  }

  // For an axis whose 0 means "all" or "to the end": where it is not 0, the length is the axis itself, or at
  // most all.
  void add_choices() {
    for (const Length& axis : axes_) {
      if (std::ranges::find(axis.values, Size{0}) == axis.values.end()) continue;
      std::vector<const Length*> others;
      for (const Length& other : axes_) {
        if (&other != &axis) others.push_back(&other);
      }
      for (const Length* const all : others) {
        collector_.add_choice(axis, *all, axis);
        collector_.add_choice(axis, *all, apply(Operation::min, axis, *all));
      }
      for (const Length* const end : others) add_rests(axis, *end, others);
    }
  }

  // Adds the rest of a length after an offset, or after the larger of two, and the rest of a sum after an
  // offset.
  void add_rests(const Length& axis, const Length& end, const std::vector<const Length*>& others) {
    for (std::size_t a = 0; a < others.size(); ++a) {
      if (others[a] == &end) continue;
      const Length& offset = *others[a];
      collector_.add_choice(axis, end + -1 * offset, axis);
      for (std::size_t b = 0; b < others.size(); ++b) {
        if (b == a || others[b] == &end) continue;
        const Length& other = *others[b];
        if (&other > &end) collector_.add_choice(axis, end + other + -1 * offset, axis);
        if (b > a) collector_.add_choice(axis, end + -1 * apply(Operation::max, offset, other), axis);
      }
      if (&offset > &end) collector_.add_choice(axis, end + offset, axis);
    }
  }

  const Shapes& shapes_;
  Collector collector_;
  std::vector<Length> axes_;  // axes that vary
  std::vector<Length> sums_;
  std::vector<Length> rounded_;
};

}  // namespace

std::vector<Atom> candidate_atoms(const Shapes& shapes) {
  return Candidates(shapes).make();
}

std::vector<Atom> candidate_atoms(const Shapes& shapes, const std::vector<Atom>& atoms_of_all,
                                  std::span<const std::size_t> at) {
  return Candidates(shapes).make_from(atoms_of_all, at);
}

}  // namespace peakmark
