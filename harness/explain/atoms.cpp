#include "explain/atoms.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/error.hpp"

namespace peakmark {
namespace {

using Operation = Expression::Operation;

// What programs round to: vector widths, warps, alignments of 64 to 4096 bytes, halves of a spectrum.
constexpr std::array<Size, 14> kDivisors{2, 3, 4, 5, 6, 8, 10, 16, 32, 64, 128, 256, 512, 1024};
// VkFFT computes lengths of factors up to 13 directly, cuFFT up to 7, scipy up to 11 (complex) or 5 (real).
constexpr std::array<Size, 5> kLargestPrimes{3, 5, 7, 11, 13};

class Collector {
 public:
  explicit Collector(const Shapes& shapes) : shapes_(shapes) {}

  // Adds an expression where it has a value at every shape and no simpler one has the same values.
  bool add(const Expression& expression, bool is_linear) {
    std::vector<Size> values(shapes_.count());
    try {
      for (std::size_t shape = 0; shape < values.size(); ++shape) {
        values[shape] = evaluate(expression, shapes_, shape);
      }
    } catch (const Error&) {
      return false;
    }
    if (std::ranges::adjacent_find(values, std::not_equal_to{}) == values.end()) return false;
    const Size complexity = expression.complexity();
    const auto [known, is_new] = index_.try_emplace(values, atoms_.size());
    if (!is_new) {
      Atom& other = atoms_[known->second];
      if (complexity < other.complexity)
        other = {expression, std::move(values), complexity, indices(expression), is_linear};
      return false;
    }
    atoms_.push_back({expression, std::move(values), complexity, indices(expression), is_linear});
    return true;
  }

  std::vector<Atom> take() {
    std::ranges::stable_sort(atoms_, {}, &Atom::complexity);
    return std::move(atoms_);
  }

 private:
  [[nodiscard]] std::vector<std::size_t> indices(const Expression& expression) const {
    std::vector<std::size_t> found;
    for (const std::string& name : expression.axes())
      found.push_back(static_cast<std::size_t>(std::ranges::find(shapes_.axes, name, &Shapes::Axis::name) -
                                               shapes_.axes.begin()));
    return found;
  }

  const Shapes& shapes_;
  std::vector<Atom> atoms_;
  std::map<std::vector<Size>, std::size_t> index_;
};

Expression integer(Size value) {
  return Expression(value);
}

// The values of axes that never vary, and their sums in pairs: a padded length is `nx + 128` where both pads
// are always 64. Small ones are tried anyway.
std::vector<Size> constant_lengths(const Shapes& shapes) {
  constexpr std::size_t kMaxConstants = 8;
  constexpr Size kMaxLength = Size{1} << 60;  // so that sums do not overflow
  std::vector<Size> values;
  for (const Shapes::Axis& axis : shapes.axes) {
    if (!axis.values.empty() &&
        std::ranges::adjacent_find(axis.values, std::not_equal_to{}) == axis.values.end())
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

// Sums of axes, as lengths before anything is rounded.
std::vector<Expression> sums(const std::vector<Expression>& axes, const std::vector<Size>& constants) {
  std::vector<Expression> found;
  const auto with_constants = [&](const Expression& sum, std::initializer_list<Size> constants) {
    found.push_back(sum);
    for (const Size constant : constants) found.push_back(Expression::add({sum, integer(constant)}));
  };
  const auto twice = [](const Expression& axis) { return Expression::multiply({integer(2), axis}); };
  for (const Expression& axis : axes) {
    with_constants(axis, {1, -1, 2, -2});
    with_constants(twice(axis), {1, -1});
  }
  for (std::size_t a = 0; a < axes.size(); ++a) {
    for (std::size_t b = 0; b < axes.size(); ++b) {
      if (b == a) continue;
      if (a < b) {
        with_constants(Expression::add({axes[a], axes[b]}), {-1, 1});
        with_constants(Expression::multiply({integer(2), Expression::add({axes[a], axes[b]})}), {});
      }
      with_constants(Expression::add({axes[a], twice(axes[b])}), {-1});
      with_constants(Expression::add({axes[a], Expression::multiply({integer(-1), axes[b]})}), {1});
    }
  }
  for (const Size constant : constants) {
    for (std::size_t a = 0; a < axes.size(); ++a) {
      found.push_back(Expression::add({axes[a], integer(constant)}));
      for (std::size_t b = a + 1; b < axes.size(); ++b)
        found.push_back(Expression::add({axes[a], axes[b], integer(constant)}));
    }
  }
  for (std::size_t a = 0; a < axes.size(); ++a) {
    for (std::size_t b = a + 1; b < axes.size(); ++b) {
      for (std::size_t c = b + 1; c < axes.size(); ++c)
        with_constants(Expression::add({axes[a], axes[b], axes[c]}), {});
    }
  }
  return found;
}

// Returns whether a sum has an integer or a difference: `nx + 1`, `ny - nx`.
bool has_integer_term(const Expression& length) {
  return length.operation() == Operation::add &&
         std::ranges::any_of(length.operands(), [](const Expression& term) {
           return term.operation() == Operation::integer ||
                  (term.operation() == Operation::multiply && term.operands()[0].is_integer(-1));
         });
}

}  // namespace

std::vector<Atom> candidate_atoms(const Shapes& shapes) {
  Collector collector(shapes);
  std::vector<Expression> axes;
  for (const Shapes::Axis& axis : shapes.axes) {
    if (std::ranges::adjacent_find(axis.values, std::not_equal_to{}) != axis.values.end())
      axes.push_back(Expression::axis(axis.name));
  }
  const std::vector<Expression> lengths = sums(axes, constant_lengths(shapes));
  for (const Expression& length : lengths) collector.add(length, true);

  std::vector<Expression> rounded;
  for (const Expression& length : lengths) {
    rounded.push_back(Expression::apply(Operation::next_pow2, {length}));
    for (const Size prime : kLargestPrimes)
      rounded.push_back(Expression::apply(Operation::next_smooth, {length, integer(prime)}));
  }
  for (const Expression& length : rounded) collector.add(length, false);
  // FFTs of real data take even lengths, vectorised ones multiples of 4: the factor is rounded.
  for (const Size multiple : {2, 4}) {
    for (const Expression& length : lengths) {
      if (has_integer_term(length)) continue;
      const Expression factor = Expression::apply(Operation::divide_up, {length, integer(multiple)});
      for (const Size prime : kLargestPrimes) {
        const Expression rounded_factor = Expression::apply(Operation::next_smooth, {factor, integer(prime)});
        collector.add(rounded_factor, false);
        // The spectrum of a real signal has half of its length and one.
        for (const Size half : {1, 2})
          collector.add(Expression::add({Expression::multiply({integer(half), rounded_factor}), integer(1)}),
                        false);
      }
    }
  }

  // What is divided: the sums, and products of two or three axes, as pitches and aligned totals are.
  std::vector<Expression> dividends = lengths;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    for (std::size_t b = a; b < axes.size(); ++b) {
      dividends.push_back(Expression::multiply({axes[a], axes[b]}));
      for (std::size_t c = b + 1; c < axes.size(); ++c)
        dividends.push_back(Expression::multiply({axes[a], axes[b], axes[c]}));
    }
  }
  for (const Size divisor : kDivisors) {
    for (const Expression& dividend : dividends) {
      collector.add(Expression::apply(Operation::divide_up, {dividend, integer(divisor)}), false);
      collector.add(Expression::apply(Operation::divide_down, {dividend, integer(divisor)}), false);
    }
  }
  for (const Size divisor : {2, 3, 4, 8, 16, 32}) {
    for (const Expression& axis : axes)
      collector.add(Expression::apply(Operation::remainder, {axis, integer(divisor)}), false);
  }
  for (const auto* const list : std::array{&std::as_const(lengths), &std::as_const(rounded)}) {
    for (const Expression& length : *list) {
      const Expression half = Expression::apply(Operation::divide_down, {length, integer(2)});
      collector.add(half, false);
      collector.add(Expression::add({half, integer(1)}), false);
    }
  }
  for (const Expression& a : axes) {
    for (const Expression& b : axes) {
      if (a == b) continue;
      collector.add(Expression::apply(Operation::divide_up, {a, b}), false);
      collector.add(Expression::apply(Operation::divide_down, {a, b}), false);
      collector.add(Expression::apply(Operation::remainder, {a, b}), false);
      // The last of the chunks of b that cover a.
      collector.add(
          Expression::add(
              {a, Expression::multiply(
                      {integer(-1), b,
                       Expression::add({Expression::apply(Operation::divide_up, {a, b}), integer(-1)})})}),
          false);
      if (a.name() < b.name()) {
        collector.add(Expression::apply(Operation::min, {a, b}), false);
        collector.add(Expression::apply(Operation::max, {a, b}), false);
      }
    }
  }
  return collector.take();
}

}  // namespace peakmark
