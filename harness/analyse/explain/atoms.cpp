#include "analyse/explain/atoms.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"

namespace peakmark {
namespace {

using Operation = Expression::Operation;
using Values = std::vector<Size>;  // one per shape

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
  Values values;
  Size complexity = 0;
};

std::uint64_t hash(const Values& values) {
  std::uint64_t sum = 0x9e3779b97f4a7c15;
  for (const Size value : values)
    sum = (sum ^ static_cast<std::uint64_t>(value)) * 0xbf58476d1ce4e5b9 + (sum >> 29);
  return sum;
}

class Collector {
 public:
  explicit Collector(const Shapes& shapes) : shapes_(shapes) {}

  [[nodiscard]] Length integer(Size value) const {
    return {Expression(value), Values(shapes_.count(), value), 1};
  }

  // Returns a sum or product of lengths; null if it has no value at some shape.
  [[nodiscard]] std::optional<Length> combine(Operation operation,
                                              std::initializer_list<const Length*> parts) const {
    std::vector<Expression> operands;
    Values values;
    for (const Length* const part : parts) {
      operands.push_back(part->expression);
      if (values.empty()) {
        values = part->values;
      } else if (!apply(operation, values, part->values, values)) {
        return std::nullopt;
      }
    }
    Expression expression = operation == Operation::add ? Expression::add(std::move(operands))
                                                        : Expression::multiply(std::move(operands));
    const Size complexity = expression.complexity();
    return Length{std::move(expression), std::move(values), complexity};
  }

  // Adds a length if no simpler one has the same values.
  void add(const Length& length, bool is_linear) {
    add(length.values, length.complexity, is_linear, [&] { return length.expression; });
  }
  void add(const std::optional<Length>& length) {
    if (length) add(*length, false);
  }
  // Adds an operation on two lengths, or on one. The expression is created only if it is added.
  void add(Operation operation, const Length& one, const Length& other) {
    if (!apply(operation, one.values, other.values, scratch_)) return;
    add(scratch_, 1 + one.complexity + other.complexity, false, [&] {
      return Expression::apply(operation, {one.expression, other.expression});
    });
  }
  void add(Operation operation, const Length& one) {
    if (!apply(operation, one.values, scratch_)) return;
    add(scratch_, 1 + one.complexity, false, [&] { return Expression::apply(operation, {one.expression}); });
  }
  // Adds a choice: `zero` if an axis is 0, else `other`.
  void add_choice(const Length& axis, const Length& zero, const Length& other) {
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

  // Return an operation on two lengths, or on one; null if it has no value at some shape.
  [[nodiscard]] static std::optional<Length> length(Operation operation, const Length& one,
                                                    const Length& other) {
    Values values;
    if (!apply(operation, one.values, other.values, values)) return std::nullopt;
    return Length{Expression::apply(operation, {one.expression, other.expression}), std::move(values),
                  1 + one.complexity + other.complexity};
  }
  [[nodiscard]] static std::optional<Length> length(Operation operation, const Length& one) {
    Values values;
    if (!apply(operation, one.values, values)) return std::nullopt;
    return Length{Expression::apply(operation, {one.expression}), std::move(values), 1 + one.complexity};
  }

  std::vector<Atom> take() {
    std::ranges::stable_sort(atoms_, {}, &Atom::complexity);
    return std::move(atoms_);
  }

 private:
  static bool apply(Operation operation, const Values& one, const Values& other, Values& result) {
    result.resize(one.size());
    try {
      for (std::size_t i = 0; i < one.size(); ++i) result[i] = compute(operation, one[i], other[i]);
    } catch (const Error&) {
      return false;
    }
    return true;
  }
  static bool apply(Operation operation, const Values& one, Values& result) {
    result.resize(one.size());
    try {
      for (std::size_t i = 0; i < one.size(); ++i) result[i] = compute(operation, one[i]);
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  template <typename MakeExpression>
  void add(const Values& values, Size complexity, bool is_linear, const MakeExpression& expression) {
    if (is_constant(values)) return;
    const std::uint64_t key = hash(values);
    const auto [first, last] = index_.equal_range(key);
    for (auto known = first; known != last; ++known) {
      Atom& other = atoms_[known->second];
      if (other.values != values) continue;
      if (complexity < other.complexity) {
        Expression simpler = expression();
        std::vector<std::size_t> axes = indices(simpler);
        other = {std::move(simpler), values, complexity, std::move(axes), is_linear};
      }
      return;
    }
    index_.emplace(key, atoms_.size());
    Expression made = expression();
    std::vector<std::size_t> axes = indices(made);
    atoms_.push_back({std::move(made), values, complexity, std::move(axes), is_linear});
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
  std::unordered_multimap<std::uint64_t, std::size_t> index_;
  Values scratch_;
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
  void add_sum(std::initializer_list<const Length*> parts) {
    if (auto sum = collector_.combine(Operation::add, parts)) sums_.push_back(std::move(*sum));
  }
  [[nodiscard]] Length times(Size factor, const Length& length) const {
    const Length constant = collector_.integer(factor);
    auto product = collector_.combine(Operation::multiply, {&constant, &length});
    if (!product) return length;
    return std::move(*product);
  }
  void add_with_constants(const Length& sum, std::initializer_list<Size> constants) {
    sums_.push_back(sum);
    for (const Size constant : constants) {
      const Length integer = collector_.integer(constant);
      add_sum({&sum, &integer});
    }
  }

  // Makes the sums of axes, from which rounded lengths are made.
  void make_sums() {
    const auto sum_of = [&](const Length& one, const Length& other, std::initializer_list<Size> constants) {
      if (const auto sum = collector_.combine(Operation::add, {&one, &other}))
        add_with_constants(*sum, constants);
    };
    std::vector<Length> twice;
    std::vector<Length> negative;
    twice.reserve(axes_.size());
    negative.reserve(axes_.size());
    for (const Length& axis : axes_) {
      twice.push_back(times(2, axis));
      negative.push_back(times(-1, axis));
      add_with_constants(axis, {1, -1, 2, -2});
      add_with_constants(twice.back(), {1, -1});
    }
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      for (std::size_t b = 0; b < axes_.size(); ++b) {
        if (b == a) continue;
        if (a < b) {
          sum_of(axes_[a], axes_[b], {-1, 1});
          if (const auto sum = collector_.combine(Operation::add, {&axes_[a], &axes_[b]}))
            sums_.push_back(times(2, *sum));
        }
        sum_of(axes_[a], twice[b], {-1});
        sum_of(axes_[a], negative[b], {1});
      }
    }
    for (const Size constant : constant_lengths(shapes_)) {
      const Length integer = collector_.integer(constant);
      for (std::size_t a = 0; a < axes_.size(); ++a) {
        add_sum({&axes_[a], &integer});
        for (std::size_t b = a + 1; b < axes_.size(); ++b) add_sum({&axes_[a], &axes_[b], &integer});
      }
    }
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      for (std::size_t b = a + 1; b < axes_.size(); ++b) {
        for (std::size_t c = b + 1; c < axes_.size(); ++c) add_sum({&axes_[a], &axes_[b], &axes_[c]});
      }
    }
  }

  // Adds images with a margin of several radii on both sides: `nx + 4 * radius`. They are not rounded, so
  // there are few.
  void add_wide_margins() {
    for (const Size factor : {3, 4, 6}) {
      for (const Length& margin : axes_) {
        const Length width = times(factor, margin);
        for (const Length& axis : axes_) {
          if (&axis == &margin) continue;
          if (const auto sum = collector_.combine(Operation::add, {&axis, &width}))
            collector_.add(*sum, true);
        }
      }
    }
  }

  // Adds axes with a pad or halo of a fixed length: `nx + 64`. They are not rounded either.
  void add_constant_pads() {
    for (const Length& axis : axes_) {
      for (const Size pad : kPads) {
        const Length integer = collector_.integer(pad);
        if (const auto sum = collector_.combine(Operation::add, {&axis, &integer}))
          collector_.add(*sum, true);
      }
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
        const Length integer = collector_.integer(limit);
        collector_.add(Operation::min, axis, integer);
        collector_.add(Operation::max, axis, integer);
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
    for (const Length& length : sums_) {
      if (auto power = Collector::length(Operation::next_pow2, length)) rounded_.push_back(std::move(*power));
      for (const Size prime : kLargestPrimes) {
        if (auto smooth = Collector::length(Operation::next_smooth, length, collector_.integer(prime)))
          rounded_.push_back(std::move(*smooth));
      }
    }
    for (const Length& length : rounded_) collector_.add(length, false);
    // FFTs of real data need even lengths, vectorised ones multiples of 4: the factor is rounded.
    const Length one = collector_.integer(1);
    for (const Size multiple : {2, 4}) {
      for (const Length& length : sums_) {
        if (has_integer_term(length.expression)) continue;
        const auto factor = Collector::length(Operation::divide_up, length, collector_.integer(multiple));
        if (!factor) continue;
        for (const Size prime : kLargestPrimes) {
          const auto smooth = Collector::length(Operation::next_smooth, *factor, collector_.integer(prime));
          if (!smooth) continue;
          collector_.add(*smooth, false);
          // The spectrum of a real signal has half of its length plus one.
          for (const Size half : {1, 2}) {
            const Length half_length = times(half, *smooth);
            collector_.add(collector_.combine(Operation::add, {&half_length, &one}));
          }
        }
      }
    }
  }

  // Divides the sums, and products of two or three axes, as pitches and aligned totals need.
  void add_quotients() {
    std::vector<Length> dividends = sums_;
    const auto add_product = [&](std::initializer_list<const Length*> parts) {
      if (auto product = collector_.combine(Operation::multiply, parts))
        dividends.push_back(std::move(*product));
    };
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      for (std::size_t b = a; b < axes_.size(); ++b) {
        add_product({&axes_[a], &axes_[b]});
        for (std::size_t c = b + 1; c < axes_.size(); ++c) add_product({&axes_[a], &axes_[b], &axes_[c]});
      }
    }
    for (const Size number : kDivisors) {
      const Length divisor = collector_.integer(number);
      for (const Length& dividend : dividends) {
        collector_.add(Operation::divide_up, dividend, divisor);
        collector_.add(Operation::divide_down, dividend, divisor);
      }
    }
    for (const Size number : {2, 3, 4, 8, 16, 32}) {
      const Length divisor = collector_.integer(number);
      for (const Length& axis : axes_) collector_.add(Operation::remainder, axis, divisor);
    }
  }

  void add_halves() {
    const Length one = collector_.integer(1);
    const Length two = collector_.integer(2);
    for (const auto* const list : std::array{&std::as_const(sums_), &std::as_const(rounded_)}) {
      for (const Length& length : *list) {
        const auto half = Collector::length(Operation::divide_down, length, two);
        if (!half) continue;
        collector_.add(*half, false);
        collector_.add(collector_.combine(Operation::add, {&*half, &one}));
      }
    }
  }

  void add_pairs() {
    const Length minus_one = collector_.integer(-1);
    for (const Length& a : axes_) {
      for (const Length& b : axes_) {
        if (&a == &b) continue;
        if (std::ranges::all_of(b.values, [](Size value) { return value > 0; })) {
          collector_.add(Operation::divide_up, a, b);
          collector_.add(Operation::divide_down, a, b);
          collector_.add(Operation::remainder, a, b);
          add_last_chunk(a, b, minus_one);
        }
        if (a.expression.name() < b.expression.name()) {
          collector_.add(Operation::min, a, b);
          collector_.add(Operation::max, a, b);
        }
      }
    }
  }

  // Adds the last of the chunks of b that cover a: a - b · (⌈a / b⌉ - 1).
  void add_last_chunk(const Length& a, const Length& b, const Length& minus_one) {
    const auto chunks = Collector::length(Operation::divide_up, a, b);
    if (!chunks) return;
    const auto whole = collector_.combine(Operation::add, {&*chunks, &minus_one});
    if (!whole) return;
    const auto covered = collector_.combine(Operation::multiply, {&minus_one, &b, &*whole});
    if (covered) collector_.add(collector_.combine(Operation::add, {&a, &*covered}));
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
        if (const auto less = Collector::length(Operation::min, axis, *all))
          collector_.add_choice(axis, *all, *less);
      }
      for (const Length* const end : others) add_rests(axis, *end, others);
    }
  }

  // Adds the rest of a length after an offset, or after the larger of two, and the rest of a sum after an
  // offset.
  void add_rests(const Length& axis, const Length& end, const std::vector<const Length*>& others) {
    const auto add_rest = [&](const Length& offset, const Length* more) {
      const Length negative = times(-1, offset);
      const auto rest = more == nullptr ? collector_.combine(Operation::add, {&end, &negative})
                                        : collector_.combine(Operation::add, {&end, more, &negative});
      if (rest) collector_.add_choice(axis, *rest, axis);
    };
    for (std::size_t a = 0; a < others.size(); ++a) {
      if (others[a] == &end) continue;
      add_rest(*others[a], nullptr);
      for (std::size_t b = 0; b < others.size(); ++b) {
        if (b == a || others[b] == &end) continue;
        if (others[b] > &end) add_rest(*others[a], others[b]);
        if (b < a) continue;
        if (const auto larger = Collector::length(Operation::max, *others[a], *others[b]))
          add_rest(*larger, nullptr);
      }
      if (others[a] > &end) {
        if (const auto sum = collector_.combine(Operation::add, {&end, others[a]}))
          collector_.add_choice(axis, *sum, axis);
      }
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
