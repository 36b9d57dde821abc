#include "analyse/explain/derive/size_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>

#include "analyse/explain/search/formula_algebra.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/sweep/external_estimator.hpp"
#include "record/ledger/allocation_sequence.hpp"

namespace peakmark {
namespace {

// Returns whether two are never live together with different bytes: then they are one array that is made at
// several places of a loop, or several equal ones.
bool are_compatible(const LiveAllocations& one, const LiveAllocations& other) {
  for (std::size_t shape = 0; shape < one.each.size(); ++shape) {
    if (one.count[shape] != 0 && other.count[shape] != 0 && one.each[shape] != other.each[shape])
      return false;
  }
  return true;
}

void merge(LiveAllocations& one, const LiveAllocations& other) {
  for (std::size_t shape = 0; shape < one.each.size(); ++shape) {
    if (one.count[shape] == 0) one.each[shape] = other.each[shape];
    one.count[shape] += other.count[shape];
  }
}

// Returns the live allocations of a group at each shape, with their bytes.
using LiveSizes = std::vector<std::pair<std::size_t, Size>>;

LiveAllocations of_group(const MatchedAllocations& group, std::size_t index,
                         const std::vector<LiveSizes>& live) {
  ShapeSizes all(live.size(), 0);
  LiveAllocations one{group, all, all};
  bool is_uniform = true;
  for (std::size_t shape = 0; shape < live.size(); ++shape) {
    for (const auto& [of, bytes] : live[shape]) {
      if (of != index) continue;
      is_uniform = is_uniform && (one.count[shape] == 0 || one.each[shape] == bytes);
      one.each[shape] = bytes;
      all[shape] = checked_add(all[shape], bytes);
      ++one.count[shape];
    }
  }
  if (is_uniform) return one;
  one.each = all;
  for (Size& count : one.count) count = std::min<Size>(count, 1);
  return one;
}

}  // namespace

std::vector<LiveAllocations> live_allocations(const RecordedCases& cases) {
  const std::vector<MatchedAllocations> groups = group_allocations(cases.sequences());
  std::vector<LiveSizes> live;
  for (std::size_t shape = 0; shape < cases.shapes.count(); ++shape) {
    const AllocationSequence& sequence = cases.sequence(shape);
    const std::vector<std::size_t> group_of = groups_of(sequence, groups, shape);
    LiveSizes& sizes = live.emplace_back();
    for (const std::size_t i : live_at_peak(sequence)) sizes.emplace_back(group_of[i], sequence[i].bytes);
  }
  std::vector<LiveAllocations> all;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    LiveAllocations one = of_group(groups[group], group, live);
    if (is_zero(one.each)) continue;
    const auto known = std::ranges::find_if(all, [&](const LiveAllocations& other) {
      return allocation_key(other) == allocation_key(one) && are_compatible(other, one);
    });
    if (known == all.end()) {
      all.push_back(std::move(one));
    } else {
      merge(*known, one);
    }
  }
  return all;
}

std::vector<EqualAllocations> equal_allocations(const std::vector<LiveAllocations>& live,
                                                const RecordedCases& cases) {
  std::vector<std::size_t> shapes(cases.shapes.count());
  std::iota(shapes.begin(), shapes.end(), std::size_t{0});
  std::vector<EqualAllocations> all;
  for (const LiveAllocations& one : live) {
    auto equal = std::ranges::find(all, one.each, &EqualAllocations::each);
    if (equal == all.end()) {
      all.push_back(
          {one.each, ShapeSizes(one.each.size(), 0), formula_where_not_zero(one.each, cases, shapes), {}});
      equal = all.end() - 1;
    }
    equal->count = add(equal->count, one.count);
    equal->members.push_back(one);
  }
  return all;
}

std::optional<Expression> formula_where_not_zero(const ShapeSizes& sizes, const RecordedCases& cases,
                                                 const std::vector<std::size_t>& shapes) {
  std::vector<std::size_t> at;
  ShapeSizes values;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) continue;
    at.push_back(shapes[i]);
    values.push_back(sizes[i]);
  }
  return cases.fitters->fit(at, values).formula;
}

namespace {

using Operation = Expression::Operation;
using Formula = std::optional<Expression>;

constexpr std::array<Size, 3> kElementFactors{2, 4, 8};
constexpr std::array<Size, 5> kElementSizes{1, 2, 4, 8, 16};
constexpr Size kMaxAlignment = 1 << 21;
constexpr std::array<Size, 8> kLengthMultiples{2, 4, 8, 16, 32, 64, 128, 256};
constexpr std::array<Size, 3> kSmoothPrimes{5, 7, 13};
constexpr std::size_t kMaxIgnoredTogether = 8;  // maximum number of axes of which all subsets are tried
constexpr std::size_t kMaxDefaults = 8;  // maximum number of values of an axis that are tried as its default

Expression rounded_up(const Expression& length, Size multiple) {
  return Expression::multiply(
      {Expression(multiple), Expression::apply(Operation::divide_up, {length, Expression(multiple)})});
}

class Changes {
 public:
  explicit Changes(const Shapes& axes) : axes_(axes) {}

  std::vector<SizeChange> make() {
    add_element_sizes();
    for (const Shapes::Axis& axis : axes_.axes) add_times(axis);
    add_rounding_left_out();
    add_other_axes();
    add_ignored_axes();
    add_rounding();
    std::ranges::stable_sort(changes_, {}, &SizeChange::rank);
    return std::move(changes_);
  }

 private:
  // Adds a change of the bytes at each shape. `changed` returns null if it does not apply.
  template <typename Changed>
  void add_of_bytes(std::string reason, int rank, const Changed& changed) {
    changes_.push_back(
        {std::move(reason), rank,
         [changed](const ShapeSizes& bytes, const Formula& /*formula*/) -> std::optional<ChangedSize> {
           ChangedSize result{ShapeSizes(bytes.size(), 0), std::nullopt};
           for (std::size_t shape = 0; shape < bytes.size(); ++shape) {
             if (bytes[shape] == 0) continue;
             const std::optional<Size> other = changed(shape, bytes[shape]);
             if (!other) return std::nullopt;
             result.bytes[shape] = *other;
           }
           return result;
         }});
  }

  // Adds a change of the formula. `changed` returns null if it does not apply.
  template <typename Changed>
  void add_of_formula(std::string reason, int rank, const Changed& changed) {
    changes_.push_back({std::move(reason), rank,
                        [changed, axes = &axes_](const ShapeSizes& bytes,
                                                 const Formula& formula) -> std::optional<ChangedSize> {
                          if (!formula) return std::nullopt;
                          Expression other = changed(*formula);
                          if (other == *formula) return std::nullopt;
                          ChangedSize result{ShapeSizes(bytes.size(), 0), std::nullopt};
                          const auto everywhere = evaluate(other, *axes);  // much faster than shape by shape
                          for (std::size_t shape = 0; shape < bytes.size(); ++shape) {
                            if (bytes[shape] == 0) continue;
                            result.bytes[shape] =
                                everywhere ? (*everywhere)[shape] : evaluate(other, *axes, shape);
                            if (result.bytes[shape] < 0) return std::nullopt;
                          }
                          result.formula = std::move(other);
                          return result;
                        }});
  }

  void replace(std::string reason, int rank, std::vector<Replacement> replacements) {
    add_of_formula(std::move(reason), rank,
                   [replacements = std::move(replacements)](const Expression& formula) {
                     return replaced(formula, replacements);
                   });
  }

  void add_element_sizes() {
    for (const Size factor : kElementFactors) {
      add_of_bytes(fmt::format("counted with 1/{} of its element size", factor), 2,
                   [factor](std::size_t, Size bytes) {
                     return bytes % factor == 0 ? std::optional(bytes / factor) : std::nullopt;
                   });
      add_of_bytes(
          fmt::format("counted with {} times its element size", factor), 3,
          [factor](std::size_t, Size bytes) { return std::optional(checked_multiply(bytes, factor)); });
    }
    const Shapes::Axis* const sizes = axes_.axis(kItemSizeAxis);
    if (sizes == nullptr || is_constant(sizes->values)) return;
    for (const Size assumed : kElementSizes)
      replace(fmt::format("counted with {} per element, whatever the dtype", quantity(assumed, "byte")), 2,
              {{Expression::axis(std::string(kItemSizeAxis)), Expression(assumed)}});
  }

  void add_times(const Shapes::Axis& axis) {
    add_of_bytes(fmt::format("counted once instead of {} times", axis.name), 2,
                 [&axis](std::size_t shape, Size bytes) -> std::optional<Size> {
                   const Size times = axis.values[shape];
                   if (times <= 0 || bytes % times != 0) return std::nullopt;
                   return bytes / times;
                 });
    add_of_bytes(fmt::format("counted {} times instead of once", axis.name), 3,
                 [&axis](std::size_t shape, Size bytes) {
                   return std::optional(checked_multiply(bytes, axis.values[shape]));
                 });
  }

  void add_rounding_left_out() {
    add_of_formula("its rounding is left out", 2,
                   [](const Expression& formula) { return without_rounding(formula); });
  }

  void add_other_axes() {
    for (const Shapes::Axis& axis : axes_.axes) {
      for (const Shapes::Axis& other : axes_.axes) {
        if (&axis == &other || axis.name == kItemSizeAxis || other.name == kItemSizeAxis) continue;
        if (is_constant(other.values)) continue;  // this would ignore the axis
        replace(fmt::format("counted with {} instead of {}", other.name, axis.name), 3,
                {{Expression::axis(axis.name), Expression::axis(other.name)}});
      }
    }
  }

  // Adds estimators that do not read a parameter: it has its default, which is 0, 1 or a usual value. Several
  // together are 0.
  void add_ignored_axes() {
    std::vector<const Shapes::Axis*> varied;
    for (const Shapes::Axis& axis : axes_.axes) {
      if (axis.name == kItemSizeAxis) continue;
      std::set<Size> defaults{0, 1};
      for (const Size value : axis.values) {
        if (defaults.size() < kMaxDefaults) defaults.insert(value);
      }
      for (const Size value : defaults)
        replace(fmt::format("counted as if {} were {}", axis.name, value), value == 0 ? 3 : 4,
                {{Expression::axis(axis.name), Expression(value)}});
      if (!is_constant(axis.values)) varied.push_back(&axis);
    }
    // Pads and margins are small: if there are very many axes, the smallest are tried.
    std::ranges::stable_sort(varied, {},
                             [](const Shapes::Axis* axis) { return std::ranges::max(axis->values); });
    varied.resize(std::min(varied.size(), kMaxIgnoredTogether));
    for (unsigned chosen = 1; chosen < 1U << varied.size(); ++chosen) {
      std::vector<std::string> names;
      std::vector<Replacement> replacements;
      for (std::size_t i = 0; i < varied.size(); ++i) {
        if ((chosen >> i & 1U) == 0) continue;
        names.push_back(varied[i]->name);
        replacements.emplace_back(Expression::axis(varied[i]->name), Expression(Size{0}));
      }
      if (names.size() > 1)
        replace(fmt::format("counted as if {} were 0", fmt::join(names, ", ")),
                3 + static_cast<int>(names.size()), std::move(replacements));
    }
  }

  void add_rounding() {
    for (Size multiple = 4; multiple <= kMaxAlignment; multiple *= 2)
      add_of_bytes(
          fmt::format("rounded up to a multiple of {}, which the program does not do", multiple), 3,
          [multiple](std::size_t, Size bytes) {
            return std::optional(checked_multiply(compute(Operation::divide_up, bytes, multiple), multiple));
          });
    add_of_bytes("rounded up to a power of two, which the program does not do", 3,
                 [](std::size_t, Size bytes) { return std::optional(compute(Operation::next_pow2, bytes)); });
    for (const Shapes::Axis& axis : axes_.axes) {
      if (axis.name == kItemSizeAxis) continue;
      const Expression length = Expression::axis(axis.name);
      const auto add = [&](const std::string& what, const Expression& rounded) {
        replace(
            fmt::format("counted with {} rounded up to {}, which the program does not do", axis.name, what),
            4, {{length, rounded}});
      };
      add("a power of two", Expression::apply(Operation::next_pow2, {length}));
      for (const Size multiple : kLengthMultiples)
        add(fmt::format("a multiple of {}", multiple), rounded_up(length, multiple));
      for (const Size prime : kSmoothPrimes)
        add(fmt::format("a length without prime factors above {}", prime),
            Expression::apply(Operation::next_smooth, {length, Expression(prime)}));
    }
  }

  const Shapes& axes_;
  std::vector<SizeChange> changes_;
};

}  // namespace

std::optional<ChangedSize> SizeChange::apply(const ShapeSizes& bytes,
                                             const std::optional<Expression>& formula) const {
  try {
    auto changed = compute(bytes, formula);
    if (changed && changed->bytes == bytes) return std::nullopt;
    return changed;
  } catch (const Error&) {  // it has no value at some shape, or does not fit 64 bits
    return std::nullopt;
  }
}

std::vector<SizeChange> size_changes(const Shapes& axes) {
  return Changes(axes).make();
}

}  // namespace peakmark
