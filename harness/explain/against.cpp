#include "explain/against.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <unordered_map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "explain/conditions.hpp"
#include "explain/live_allocations.hpp"
#include "explain/size_changes.hpp"

namespace peakmark {
namespace {

using Kind = EstimateCause::Kind;

constexpr std::size_t kMinCompared = 3;  // shapes: any bytes at fewer have some cause
constexpr Size kMaxCopies = 8;           // of many equal allocations, so many are tried, and all of them
// Three causes at once: of the first two, so many are tried.
constexpr std::size_t kMaxPaired = 400;
constexpr int kMaxRankOfThree = 3;
constexpr int kMaxRankAfterChanges = 1;
constexpr int kMaxRankOfFirst = 2;  // of two changes: beyond it, the second has no formulas, which take long
constexpr Size kWrap = Size{1} << 32;
constexpr const char* kNoCause = "no cause found";
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

struct SizesHash {
  std::size_t operator()(const ShapeSizes& values) const {
    std::size_t hash = values.size();
    for (const Size value : values)
      hash = (hash ^ std::hash<Size>{}(value)) * 0x9e3779b97f4a7c15 + (hash >> 31);
    return hash;
  }
};

bool is_zero(const ShapeSizes& values) {
  return std::ranges::all_of(values, [](Size value) { return value == 0; });
}

template <typename Compute>
ShapeSizes combine(const ShapeSizes& one, const ShapeSizes& other, const Compute& compute) {
  ShapeSizes result(one.size());
  for (std::size_t i = 0; i < one.size(); ++i) result[i] = compute(one[i], other[i]);
  return result;
}
ShapeSizes subtract(const ShapeSizes& one, const ShapeSizes& other) {
  return combine(one, other, checked_subtract);
}
ShapeSizes add(const ShapeSizes& one, const ShapeSizes& other) {
  return combine(one, other, checked_add);
}
ShapeSizes multiply(const ShapeSizes& one, const ShapeSizes& other) {
  return combine(one, other, checked_multiply);
}
ShapeSizes negated(ShapeSizes values) {
  for (Size& value : values) value = -value;
  return values;
}

/// What an estimator may do wrong with some allocations of equal size, or with all.
struct Mistake {
  Kind kind = Kind::missing;
  std::size_t of = kAll;  ///< index of the equal allocations; kAll: all of the program
  ShapeSizes copies;      ///< how many of these
  ShapeSizes difference;  ///< recorded less estimated bytes
  int rank = 0;           ///< simple explanations first
  std::string reason;
  std::optional<Expression> each = {};  ///< the difference of one of them; null: it is not known as a formula
};

using Mistakes = std::vector<Mistake>;
using Equal = std::vector<EqualAllocations>;
using Sizes = std::vector<ChangedSize>;  // of each of the equal allocations, as an estimator computes them

std::optional<Expression> subtract(const std::optional<Expression>& one,
                                   const std::optional<Expression>& other) {
  if (!one || !other) return std::nullopt;
  return Expression::add({*one, Expression::multiply({Expression(Size{-1}), *other})});
}

/// How many of equal allocations a mistake may be about.
std::vector<ShapeSizes> numbers_of_copies(const EqualAllocations& equal) {
  std::vector<ShapeSizes> all{equal.count};
  const auto add = [&](ShapeSizes copies) {
    if (std::ranges::find(all, copies) == all.end()) all.push_back(std::move(copies));
  };
  const Size fixed = fixed_number(equal.count);
  for (Size number = 1; number < std::min(fixed, kMaxCopies + 1); ++number) {
    ShapeSizes copies = equal.count;
    for (Size& one : copies) one = std::min(one, number);
    add(std::move(copies));
  }
  if (fixed != 1) {
    ShapeSizes one = equal.count;
    ShapeSizes others = equal.count;
    for (Size& copies : one) copies = std::min<Size>(copies, 1);
    for (Size& copies : others) copies = std::max<Size>(copies - 1, 0);
    add(std::move(one));
    add(std::move(others));
  }
  return all;
}

// Inputs and outputs are forgotten less often than what a program allocates besides.
bool is_argument(const LiveAllocations& one) {
  return one.phase == "inputs" || one.phase == "outputs";
}

/// Finds mistakes that add up to a difference.
class MistakeSearch {
 public:
  MistakeSearch(const Equal& equal, const Shapes& axes)
      : equal_(equal), axes_(axes), changes_(size_changes(axes)) {
    for (std::size_t i = 0; i < equal.size(); ++i) {
      all_.push_back(i);
      sizes_.push_back({equal[i].each, equal[i].formula});
    }
    mistakes_ = mistakes_with(sizes_, all_, Tried::all);
    index(mistakes_, by_difference_);
  }

  /// Return the simplest mistakes that explain the whole difference; none if nothing does. The second takes
  /// much longer.
  [[nodiscard]] Mistakes find_simple(const ShapeSizes& difference) const {
    auto found = one(difference);
    return found.empty() ? two(difference) : found;
  }
  [[nodiscard]] Mistakes find_composed(const ShapeSizes& difference) const {
    auto found = after_changes(difference);
    return found.empty() ? three(difference) : found;
  }

  /// Returns mistakes that explain the difference but for a multiple of 2³² at some shapes, and sets `lost`
  /// to these bytes: the estimator computes in 32 bits.
  [[nodiscard]] std::optional<Mistakes> find_overflow(const ShapeSizes& difference,
                                                      const ShapeSizes& recorded, const ShapeSizes& estimated,
                                                      ShapeSizes& lost) const {
    const auto is_overflow = [&](const ShapeSizes& explained) {
      const ShapeSizes rest = subtract(difference, explained);
      if (is_zero(rest) || !std::ranges::all_of(rest, [](Size bytes) { return bytes % kWrap == 0; }))
        return false;
      lost = rest;
      return is_wrapped(subtract(recorded, explained), estimated);
    };
    if (is_overflow(ShapeSizes(difference.size(), 0))) return Mistakes{};
    for (const Mistake& one : mistakes_) {
      if (is_overflow(one.difference)) return Mistakes{one};
    }
    for (const SizeChange& change : changes_) {
      const auto changed = apply(change, sizes_, all_, true);
      if (changed && is_overflow(changed->change.difference)) return Mistakes{changed->change};
    }
    return std::nullopt;
  }

  /// Returns a mistake beside which only a constant is left; null if there is none.
  [[nodiscard]] const Mistake* find_beside_constant(const ShapeSizes& difference) const {
    for (const Mistake& one : mistakes_) {
      if (one.rank <= kMaxRankOfThree && is_constant(subtract(difference, one.difference))) return &one;
    }
    return nullptr;
  }

 private:
  using ByDifference = std::unordered_map<ShapeSizes, std::vector<std::size_t>, SizesHash>;

  static void index(const Mistakes& mistakes, ByDifference& by_difference) {
    for (std::size_t i = 0; i < mistakes.size(); ++i) by_difference[mistakes[i].difference].push_back(i);
  }

  /// Which mistakes are tried: those with formulas take long.
  enum class Tried : std::uint8_t { all, without_formulas, without_changes };

  /// Returns the mistakes with each of some allocations that an estimator computes with these sizes, the
  /// simplest first.
  [[nodiscard]] Mistakes mistakes_with(const Sizes& sizes, const std::vector<std::size_t>& with,
                                       Tried tried) const {
    Mistakes all;
    for (const std::size_t of : with) add_mistakes(sizes[of], of, tried, all);
    std::ranges::stable_sort(all, {}, &Mistake::rank);
    return all;
  }

  void add_mistakes(const ChangedSize& size, std::size_t of, Tried tried, Mistakes& all) const {
    const EqualAllocations& equal = equal_[of];
    const auto add = [&](Kind kind, const ShapeSizes& copies, const ShapeSizes& each, int rank,
                         std::string reason, std::optional<Expression> formula) {
      try {
        ShapeSizes difference = multiply(copies, each);
        if (!is_zero(difference))
          all.push_back(
              {kind, of, copies, std::move(difference), rank, std::move(reason), std::move(formula)});
      } catch (const OverflowError&) {  // no estimator answers as much
      }
    };
    const int rank = std::ranges::all_of(equal.members, is_argument) ? 1 : 0;
    const std::vector<ShapeSizes> numbers = numbers_of_copies(equal);
    for (const ShapeSizes& copies : numbers) add(Kind::missing, copies, size.bytes, rank, "", size.formula);
    ShapeSizes once = equal.count;
    for (Size& one : once) one = std::min<Size>(one, 1);
    for (Size more = 1; more <= std::max<Size>(fixed_number(equal.count), 2); ++more) {
      ShapeSizes copies = once;
      for (Size& one : copies) one *= more;
      add(Kind::extra, copies, negated(size.bytes), 1, counted_too_often(fixed_number(equal.count), more),
          subtract(Expression(Size{0}), size.formula));
    }
    if (tried == Tried::without_changes) return;
    add_where_not_live(size, of, all);
    for (const SizeChange& change : changes_) {
      const auto changed = change.apply(size.bytes, tried == Tried::all ? size.formula : std::nullopt);
      if (!changed) continue;
      const ShapeSizes off = subtract(size.bytes, changed->bytes);
      const auto formula = subtract(size.formula, changed->formula);
      for (const ShapeSizes& copies : numbers)
        add(Kind::wrong, copies, off, change.rank(), change.reason(), formula);
    }
  }

  static std::string counted_too_often(Size count, Size more) {
    if (count == 1 && more == 1) return "counted twice";
    if (count == 0) return "";
    return fmt::format("counted {} times, but {} have these bytes", count + more,
                       quantity(static_cast<std::size_t>(count), "allocation"));
  }

  // An allocation that is there at some shapes, counted at all.
  void add_where_not_live(const ChangedSize& size, std::size_t of, Mistakes& all) const {
    if (!size.formula || std::ranges::find(size.bytes, Size{0}) == size.bytes.end()) return;
    ShapeSizes difference(size.bytes.size(), 0);
    try {
      for (std::size_t shape = 0; shape < difference.size(); ++shape) {
        if (size.bytes[shape] == 0) difference[shape] = -evaluate(*size.formula, axes_, shape);
      }
    } catch (const Error&) {  // no value where it is not live
      return;
    }
    if (!is_zero(difference))
      all.push_back({Kind::extra, of, ShapeSizes(difference.size(), 1), std::move(difference), 2,
                     "counted where it is not allocated"});
  }

  // One mistake, or one change of all allocations.
  [[nodiscard]] Mistakes one(const ShapeSizes& difference) const {
    if (const auto found = by_difference_.find(difference); found != by_difference_.end())
      return {mistakes_[found->second.front()]};
    for (const SizeChange& change : changes_) {
      const auto changed = apply(change, sizes_, all_, true);
      if (changed && changed->change.difference == difference) return {changed->change};
    }
    return {};
  }

  [[nodiscard]] Mistakes two(const ShapeSizes& difference) const {
    for (const Mistake& first : mistakes_) {
      const auto rest = by_difference_.find(subtract(difference, first.difference));
      if (rest == by_difference_.end()) continue;
      for (const std::size_t second : rest->second) {
        if (are_compatible({&first, &mistakes_[second]})) return {first, mistakes_[second]};
      }
    }
    return {};
  }

  [[nodiscard]] Mistakes three(const ShapeSizes& difference) const {
    const std::size_t count = std::min(mistakes_.size(), kMaxPaired);
    for (std::size_t a = 0; a < count && mistakes_[a].rank <= kMaxRankOfThree; ++a) {
      const ShapeSizes without_first = subtract(difference, mistakes_[a].difference);
      for (std::size_t b = a + 1; b < count && mistakes_[b].rank <= kMaxRankOfThree; ++b) {
        if (!are_compatible({&mistakes_[a], &mistakes_[b]})) continue;
        const auto rest = by_difference_.find(subtract(without_first, mistakes_[b].difference));
        if (rest == by_difference_.end()) continue;
        for (const std::size_t c : rest->second) {
          if (are_compatible({&mistakes_[a], &mistakes_[b], &mistakes_[c]}))
            return {mistakes_[a], mistakes_[b], mistakes_[c]};
        }
      }
    }
    return {};
  }

  // Whether an estimator can make all: of equal allocations not more than there are, and not some of them too
  // often while others are missing.
  [[nodiscard]] bool are_compatible(const std::vector<const Mistake*>& mistakes) const {
    for (const Mistake* const one : mistakes) {
      ShapeSizes copies(one->copies.size(), 0);
      for (const Mistake* const other : mistakes) {
        if (other->of != one->of) continue;
        if (other != one && (one->kind == Kind::extra || other->kind == Kind::extra ||
                             (one->kind == other->kind && one->reason == other->reason)))
          return false;
        copies = add(copies, other->copies);
      }
      if (one->kind == Kind::extra || one->of == kAll) continue;
      const ShapeSizes& available = equal_[one->of].count;
      for (std::size_t shape = 0; shape < copies.size(); ++shape) {
        if (copies[shape] > available[shape]) return false;
      }
    }
    return true;
  }

  // `counted with 1/2 of its element size`, of all allocations.
  static std::string of_all(std::string reason) {
    for (std::size_t at = reason.find("its "); at != std::string::npos; at = reason.find("its ", at + 6))
      reason.replace(at, 3, "their");
    return "all allocations: " + reason;
  }

  /// A change of the bytes of some allocations, after others, and the sizes before and after it.
  struct Changed {
    Mistake change;
    const Sizes* before;
    Sizes after;
  };
  using Chain = std::vector<const Changed*>;

  // Returns a change of allocations `of`; null if none of them changes. `with_formulas`: see Tried.
  [[nodiscard]] std::optional<Changed> apply(const SizeChange& change, const Sizes& before,
                                             const std::vector<std::size_t>& of, bool with_formulas) const {
    std::vector<std::pair<std::size_t, ChangedSize>> changed;
    for (const std::size_t i : of) {
      auto other = change.apply(before[i].bytes, with_formulas ? before[i].formula : std::nullopt);
      if (other) changed.emplace_back(i, std::move(*other));
    }
    if (changed.empty()) return std::nullopt;
    Changed result{{Kind::wrong, kAll, {}, {}, change.rank(), change.reason()}, &before, before};
    ShapeSizes& difference = result.change.difference;
    difference.resize(before.front().bytes.size(), 0);
    try {
      for (auto& [i, other] : changed) {
        difference = add(difference, multiply(equal_[i].count, subtract(before[i].bytes, other.bytes)));
        result.after[i] = std::move(other);
      }
    } catch (const OverflowError&) {
      return std::nullopt;
    }
    if (changed.size() > 1) {
      result.change.reason = of_all(change.reason());
      result.change.copies.resize(difference.size(), 0);
      return result;
    }
    const std::size_t only = changed.front().first;
    result.change.of = only;
    result.change.copies = equal_[only].count;
    result.change.each = subtract(before[only].formula, result.after[only].formula);
    return result;
  }

  // One or two changes of all allocations, and mistakes with what they change; or two mistakes with the same
  // allocation, one after the other.
  [[nodiscard]] Mistakes after_changes(const ShapeSizes& difference) const {
    std::vector<Changed> changes;
    for (const SizeChange& change : changes_) {
      if (auto changed = apply(change, sizes_, all_, true)) changes.push_back(std::move(*changed));
    }
    const auto tried = [](const Changed& one) {
      return one.change.rank <= kMaxRankOfThree ? Tried::all : Tried::without_formulas;
    };
    for (const Changed& first : changes) {
      const ShapeSizes rest = subtract(difference, first.change.difference);
      const Mistakes after = mistakes_with(first.after, all_, tried(first));
      if (auto found = with_mistakes({&first}, after, rest); !found.empty()) return found;
    }
    for (const SizeChange& change : changes_) {
      if (change.rank() > kMaxRankOfThree) break;
      for (const std::size_t of : all_) {
        const auto one = apply(change, sizes_, {of}, true);
        if (!one) continue;
        const ShapeSizes rest = subtract(difference, one->change.difference);
        const Mistakes after = mistakes_with(one->after, {of}, tried(*one));
        if (auto found = with_mistakes({&*one}, after, rest); !found.empty()) return found;
      }
    }
    for (const Changed& first : changes) {
      const ShapeSizes rest = subtract(difference, first.change.difference);
      for (const SizeChange& change : changes_) {
        const auto second = apply(change, first.after, all_, first.change.rank <= kMaxRankOfFirst);
        if (!second) continue;
        const ShapeSizes last = subtract(rest, second->change.difference);
        if (is_zero(last)) return {first.change, second->change};
        const Mistakes after = mistakes_with(second->after, all_, Tried::without_changes);
        if (auto found = with_mistakes({&first, &*second}, after, last); !found.empty()) return found;
      }
    }
    return {};
  }

  // Returns the changes and one mistake that explains the rest, or two of the simplest.
  [[nodiscard]] Mistakes with_mistakes(const Chain& changes, const Mistakes& after,
                                       const ShapeSizes& rest) const {
    if (const auto found = std::ranges::find(after, rest, &Mistake::difference); found != after.end())
      return joined(changes, {*found});
    for (std::size_t a = 0; a < after.size() && after[a].rank <= kMaxRankAfterChanges; ++a) {
      const ShapeSizes last = subtract(rest, after[a].difference);
      for (std::size_t b = a + 1; b < after.size() && after[b].rank <= kMaxRankAfterChanges; ++b) {
        if (after[b].difference == last && are_compatible({&after[a], &after[b]}))
          return joined(changes, {after[a], after[b]});
      }
    }
    return {};
  }

  // What is missing is missing with the bytes that it has: no change is about it.
  [[nodiscard]] Mistakes joined(const Chain& changes, Mistakes mistakes) const {
    Mistakes all;
    for (const Changed* const one : changes) all.push_back(one->change);
    for (Mistake& mistake : mistakes) {
      if (mistake.kind != Kind::missing) continue;
      const std::size_t of = mistake.of;
      for (std::size_t i = 0; i < changes.size(); ++i) {
        if (all[i].of != kAll && all[i].of != of) continue;
        const ShapeSizes part =
            multiply(mistake.copies, subtract((*changes[i]->before)[of].bytes, changes[i]->after[of].bytes));
        all[i].difference = subtract(all[i].difference, part);
        mistake.difference = add(mistake.difference, part);
        if (all[i].of == of) all[i].copies = subtract(all[i].copies, mistake.copies);
      }
      mistake.each = sizes_[of].formula;
    }
    std::erase_if(all, [](const Mistake& change) { return is_zero(change.difference); });
    std::ranges::move(mistakes, std::back_inserter(all));
    return all;
  }

  // Whether an estimator that computes `right` in 32 bits, all of it or for each value of an axis, answers
  // `estimated`.
  [[nodiscard]] bool is_wrapped(const ShapeSizes& right, const ShapeSizes& estimated) const {
    const auto is_of = [&](const auto& times) {
      for (std::size_t shape = 0; shape < right.size(); ++shape) {
        const Size number = times(shape);
        if (number <= 0 || right[shape] < 0 || right[shape] % number != 0 ||
            right[shape] / number % kWrap * number != estimated[shape])
          return false;
      }
      return true;
    };
    return is_of([](std::size_t) { return Size{1}; }) ||
           std::ranges::any_of(axes_.axes, [&](const Shapes::Axis& axis) {
             return is_of([&](std::size_t shape) { return axis.values[shape]; });
           });
  }

  const Equal& equal_;
  const Shapes& axes_;
  const std::vector<SizeChange> changes_;
  Sizes sizes_;                   // as recorded, one for each of `equal_`
  std::vector<std::size_t> all_;  // their indices
  Mistakes mistakes_;
  ByDifference by_difference_;
};

class CauseSearch {
 public:
  CauseSearch(const RecordedCases& cases, const EstimatedCases& estimated)
      : cases_(cases), estimated_(estimated) {
    for (std::size_t shape = 0; shape < cases.shapes.count(); ++shape) {
      if (estimated.bytes[shape]) shapes_.push_back(shape);
    }
    axes_ = cases.shapes.subset(shapes_);
    for (std::size_t shape = 0; shape < cases.shapes.count(); ++shape) all_shapes_.push_back(shape);
    live_ = live_allocations(cases, all_shapes_);
  }

  std::vector<EstimateCause> find() {
    if (shapes_.empty()) return {};
    ShapeSizes difference;
    for (const std::size_t shape : shapes_)
      difference.push_back(checked_subtract(cases_.peaks[shape], *estimated_.bytes[shape]));
    const ShapeSizes whole = difference;
    if (!estimated_.terms.empty()) compare_terms(difference);
    if (!is_zero(difference)) explain_bytes(difference);
    ShapeSizes sum(difference.size(), 0);
    for (const EstimateCause& cause : causes_) sum = add(sum, cause.recorded);
    if (sum != whole) {  // what does not add up is no cause
      causes_.clear();
      add_cause(Kind::difference, kNoCause, whole);
    }
    for (EstimateCause& cause : causes_) complete(cause);
    return std::move(causes_);
  }

 private:
  template <typename Values>
  [[nodiscard]] Values answered(const Values& values) const {
    Values result;
    for (const std::size_t shape : shapes_) result.push_back(values[shape]);
    return result;
  }

  // Formulas are those of all shapes; the sizes those of the shapes that the estimator answered.
  [[nodiscard]] Equal equal(const std::vector<LiveAllocations>& live) const {
    Equal all = equal_allocations(live, cases_, all_shapes_);
    for (EqualAllocations& one : all) {
      one.each = answered(one.each);
      one.count = answered(one.count);
      for (LiveAllocations& member : one.members) {
        member.each = answered(member.each);
        member.count = answered(member.count);
      }
    }
    std::erase_if(all, [](const EqualAllocations& one) { return is_zero(one.count); });
    return all;
  }

  // ---- estimators that name their terms

  void compare_terms(ShapeSizes& difference) {
    for (const auto& [name, all] : estimated_.terms) {
      const ShapeSizes bytes = answered(all);
      std::vector<LiveAllocations> named;
      ShapeSizes recorded(bytes.size(), 0);
      for (const LiveAllocations& one : live_) {
        if (one.name != name) continue;
        named.push_back(one);
        recorded = add(recorded, answered(multiply(one.count, one.each)));
      }
      const ShapeSizes off = subtract(recorded, bytes);
      if (is_zero(off)) continue;
      difference = subtract(difference, off);
      if (named.empty()) {
        add_cause(Kind::extra, "no allocation has this name", off).allocation = name;
        continue;
      }
      const Equal of_name = equal(named);
      const MistakeSearch search(of_name, axes_);
      Mistakes found = search.find_simple(off);
      if (found.empty()) found = search.find_composed(off);
      add_mistakes(found, of_name);
      if (found.empty()) set_place(add_cause(Kind::difference, kNoCause, off), named.front());
    }
    for (const LiveAllocations& one : live_) {
      if (estimated_.terms.contains(one.name)) continue;
      for (const EqualAllocations& missing : equal({one})) {
        const ShapeSizes bytes = multiply(missing.count, missing.each);
        difference = subtract(difference, bytes);
        add_mistake({Kind::missing, 0, missing.count, bytes, 0, "", missing.formula}, {missing});
      }
    }
    pair_renamed();
  }

  // An extra term and a missing allocation of the same bytes are one thing with two names.
  void pair_renamed() {
    for (std::size_t i = 0; i < causes_.size();) {
      const auto missing = std::ranges::find_if(causes_, [&](const EstimateCause& one) {
        return causes_[i].kind == Kind::extra && one.kind == Kind::missing &&
               one.recorded == negated(causes_[i].recorded);
      });
      if (missing == causes_.end()) {
        ++i;
        continue;
      }
      const auto other = static_cast<std::size_t>(missing - causes_.begin());
      causes_.erase(causes_.begin() + static_cast<std::ptrdiff_t>(std::max(i, other)));
      causes_.erase(causes_.begin() + static_cast<std::ptrdiff_t>(std::min(i, other)));
      i -= other < i ? 1 : 0;
    }
  }

  // ---- estimators that answer a number of bytes

  void explain_bytes(const ShapeSizes& difference) {
    if (shapes_.size() < kMinCompared) {
      add_cause(Kind::difference, kNoCause, difference);
      return;
    }
    const Equal all = equal(live_);
    const MistakeSearch search(all, axes_);
    if (const Mistakes found = search.find_simple(difference); !found.empty()) {
      add_mistakes(found, all);
      return;
    }
    ShapeSizes recorded;
    ShapeSizes estimated;
    for (const std::size_t shape : shapes_) {
      recorded.push_back(cases_.peaks[shape]);
      estimated.push_back(*estimated_.bytes[shape]);
    }
    ShapeSizes lost;
    if (const auto found = search.find_overflow(difference, recorded, estimated, lost)) {
      add_mistakes(*found, all);
      add_cause(Kind::wrong, "computed in 32 bits: bytes from 2³² on are lost", lost);
      return;
    }
    if (const Mistakes found = search.find_composed(difference); !found.empty()) {
      add_mistakes(found, all);
      return;
    }
    ShapeSizes rest = difference;
    if (const Mistake* const beside = search.find_beside_constant(difference)) {
      add_mistake(*beside, all);
      rest = subtract(difference, beside->difference);
    }
    add_cause(Kind::difference, kNoCause, rest);
  }

  // ---- causes

  EstimateCause& add_cause(Kind kind, std::string reason, ShapeSizes difference) {
    EstimateCause& cause = causes_.emplace_back();
    cause.kind = kind;
    cause.reason = std::move(reason);
    cause.recorded = std::move(difference);
    return cause;
  }

  static void set_place(EstimateCause& cause, const LiveAllocations& one) {
    cause.allocation = one.name;
    cause.phase = one.phase;
    cause.where = one.where;
    cause.process = one.process;
  }

  void add_mistakes(const Mistakes& mistakes, const Equal& all) {
    for (const Mistake& mistake : mistakes) add_mistake(mistake, all);
  }

  void add_mistake(const Mistake& mistake, const Equal& all) {
    if (mistake.of == kAll) {
      add_cause(mistake.kind, mistake.reason, mistake.difference);
      return;
    }
    const EqualAllocations& equal = all[mistake.of];
    // If all of them are missing, or all are wrong, there is no doubt which.
    if (mistake.kind != Kind::extra && mistake.copies == equal.count && equal.members.size() > 1) {
      for (const LiveAllocations& one : equal.members) {
        ShapeSizes part(one.count.size(), 0);
        for (std::size_t shape = 0; shape < part.size(); ++shape) {
          if (one.count[shape] != 0)
            part[shape] = mistake.difference[shape] / equal.count[shape] * one.count[shape];
        }
        EstimateCause& cause = add_cause(mistake.kind, mistake.reason, std::move(part));
        set_place(cause, one);
        set_copies(cause, one.count, one.count, equal.formula);
        set_bytes(cause, mistake.each, cause.copies);
      }
      return;
    }
    const auto first = std::ranges::find_if_not(equal.members, is_argument);
    const LiveAllocations& named = first == equal.members.end() ? equal.members.front() : *first;
    EstimateCause& cause = add_cause(mistake.kind, mistake.reason, mistake.difference);
    set_place(cause, named);
    set_bytes(cause, mistake.each, fixed_number(mistake.copies));
    if (mistake.kind != Kind::extra) set_copies(cause, mistake.copies, equal.count, equal.formula);
    for (const LiveAllocations& one : equal.members) {
      if (&one != &named) cause.same_bytes.push_back({one.name, one.where});
    }
  }

  static void set_copies(EstimateCause& cause, const ShapeSizes& copies, const ShapeSizes& count,
                         const std::optional<Expression>& each) {
    cause.copies = fixed_number(copies);
    cause.of = fixed_number(count);
    if (cause.copies == 0) cause.of = 0;
    cause.each = each;
  }

  // The formula of a difference that is too complex to be found from the numbers.
  static void set_bytes(EstimateCause& cause, const std::optional<Expression>& each, Size copies) {
    if (each && copies > 0) cause.bytes = Expression::multiply({Expression(copies), *each});
  }

  // Formulas and conditions are found last, for the causes that are returned.
  void complete(EstimateCause& cause) const {
    cause.is_too_high = std::ranges::all_of(cause.recorded, [](Size value) { return value <= 0; });
    cause.is_mixed =
        !cause.is_too_high && std::ranges::any_of(cause.recorded, [](Size value) { return value < 0; });
    if (cause.is_too_high) cause.recorded = negated(std::move(cause.recorded));
    const std::optional<Expression> known = cause.bytes;
    cause.bytes = formula_where_not_zero(cause.recorded, cases_, shapes_);
    if (!cause.bytes && known) {
      const Expression formula =
          cause.is_too_high ? Expression::multiply({Expression(Size{-1}), *known}) : *known;
      if (is_exact_where_not_zero(formula, cause.recorded)) cause.bytes = formula;
    }
    if (cause.bytes && evaluate(*cause.bytes, axes_) == cause.recorded) return;
    std::vector<bool> holds;
    holds.reserve(cause.recorded.size());
    for (const Size value : cause.recorded) holds.push_back(value != 0);
    const auto condition = find_condition(axes_, holds);
    cause.condition = condition
                          ? *condition
                          : fmt::format("at {} of {} shapes", std::ranges::count(holds, true), holds.size());
  }

  [[nodiscard]] bool is_exact_where_not_zero(const Expression& formula, const ShapeSizes& sizes) const {
    try {
      for (std::size_t shape = 0; shape < sizes.size(); ++shape) {
        if (sizes[shape] != 0 && evaluate(formula, axes_, shape) != sizes[shape]) return false;
      }
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  const RecordedCases& cases_;
  const EstimatedCases& estimated_;
  std::vector<std::size_t> shapes_;  // that the estimator answered
  Shapes axes_;                      // of these
  std::vector<std::size_t> all_shapes_;
  std::vector<LiveAllocations> live_;  // at all shapes
  std::vector<EstimateCause> causes_;
};

}  // namespace

std::vector<EstimateCause> find_causes(const RecordedCases& cases, const EstimatedCases& estimated) {
  if (estimated.bytes.size() != cases.shapes.count())
    throw UsageError(fmt::format("{} estimates for {} shapes: give one estimate a shape",
                                 estimated.bytes.size(), cases.shapes.count()));
  return CauseSearch(cases, estimated).find();
}

}  // namespace peakmark
