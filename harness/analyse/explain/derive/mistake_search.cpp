#include "analyse/explain/derive/mistake_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "analyse/explain/derive/size_changes.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace peakmark {
namespace {

using Kind = EstimateCause::Kind;
using Equal = std::vector<EqualAllocations>;
using Sizes = std::vector<ChangedSize>;  // of each of the equal allocations, as an estimator computes them

constexpr Size kMaxCopies = 8;  // maximum number of equal allocations that are tried, besides all of them
// For three causes at once: maximum number of the first two that are tried.
constexpr std::size_t kMaxPaired = 400;
constexpr int kMaxRankOfThree = 3;
constexpr int kMaxRankAfterChanges = 1;
constexpr int kMaxRankOfFirst =
    2;  // if the second of two changes has a rank above this, it is tried without formulas, which take long
constexpr Size kWrap = Size{1} << 32;

std::optional<Expression> difference_of(const std::optional<Expression>& one,
                                        const std::optional<Expression>& other) {
  if (!one || !other) return std::nullopt;
  return Expression::add({*one, Expression::multiply({Expression(Size{-1}), *other})});
}

// Returns the possible numbers of equal allocations that a mistake affects.
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

class MistakeSearch {
 public:
  MistakeSearch(const Equal& equal, const Shapes& axes)
      : equal_(equal), axes_(axes), changes_(size_changes(axes)) {
    for (std::size_t i = 0; i < equal.size(); ++i) {
      all_.push_back(i);
      sizes_.push_back({equal[i].each, equal[i].formula});
    }
    mistakes_ = mistakes_with(sizes_, all_, Tried::all);
    for (std::size_t i = 0; i < mistakes_.size(); ++i) by_difference_[mistakes_[i].difference].push_back(i);
  }

  [[nodiscard]] FoundMistakes find(const ShapeSizes& difference, const ShapeSizes& estimated) const {
    if (auto found = one(difference); !found.empty()) return whole(std::move(found), difference);
    if (auto found = two(difference); !found.empty()) return whole(std::move(found), difference);
    if (!estimated.empty()) {
      if (auto found = overflow(difference, estimated)) return std::move(*found);
    }
    if (auto found = after_changes(difference); !found.empty()) return whole(std::move(found), difference);
    if (auto found = three(difference); !found.empty()) return whole(std::move(found), difference);
    for (const Mistake& one : mistakes_) {
      const ShapeSizes rest = subtract(difference, one.difference);
      if (!estimated.empty() && one.rank <= kMaxRankOfThree && is_constant(rest)) return {{one}, rest};
    }
    return {{}, difference};
  }

 private:
  using ByDifference = std::unordered_map<ShapeSizes, std::vector<std::size_t>, ShapeSizesHash>;

  static FoundMistakes whole(Mistakes mistakes, const ShapeSizes& difference) {
    return {std::move(mistakes), ShapeSizes(difference.size(), 0)};
  }

  /// Which mistakes are tried, because those with formulas take long.
  enum class Tried : std::uint8_t { all, without_formulas, without_changes };

  /// Returns the mistakes with some allocations, if an estimator computes these sizes for them, the simplest
  /// first.
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
      } catch (const OverflowError&) {  // no estimator returns so many bytes
      }
    };
    const int rank = std::ranges::all_of(equal.members, &LiveAllocations::is_argument) ? 1 : 0;
    const std::vector<ShapeSizes> numbers = numbers_of_copies(equal);
    for (const ShapeSizes& copies : numbers) add(Kind::missing, copies, size.bytes, rank, "", size.formula);
    ShapeSizes once = equal.count;
    for (Size& one : once) one = std::min<Size>(one, 1);
    for (Size more = 1; more <= std::max<Size>(fixed_number(equal.count), 2); ++more) {
      ShapeSizes copies = once;
      for (Size& one : copies) one *= more;
      add(Kind::extra, copies, negated(size.bytes), 1, counted_too_often(fixed_number(equal.count), more),
          difference_of(Expression(Size{0}), size.formula));
    }
    if (tried == Tried::without_changes) return;
    add_where_not_live(size, of, all);
    for (const SizeChange& change : changes_) {
      const auto changed = change.apply(size.bytes, tried == Tried::all ? size.formula : std::nullopt);
      if (!changed) continue;
      const ShapeSizes off = subtract(size.bytes, changed->bytes);
      const auto formula = difference_of(size.formula, changed->formula);
      for (const ShapeSizes& copies : numbers)
        add(Kind::wrong, copies, off, change.rank, change.reason, formula);
    }
  }

  static std::string counted_too_often(Size count, Size more) {
    if (count == 1 && more == 1) return "counted twice";
    if (count == 0) return "";
    return fmt::format("counted {} times, but {} have this size", count + more,
                       quantity(static_cast<std::size_t>(count), "allocation"));
  }

  // Adds the mistake of counting an allocation at all shapes although it exists only at some.
  void add_where_not_live(const ChangedSize& size, std::size_t of, Mistakes& all) const {
    if (!size.formula || std::ranges::find(size.bytes, Size{0}) == size.bytes.end()) return;
    ShapeSizes difference(size.bytes.size(), 0);
    try {
      for (std::size_t shape = 0; shape < difference.size(); ++shape) {
        if (size.bytes[shape] == 0) difference[shape] = -evaluate(*size.formula, axes_, shape);
      }
    } catch (const Error&) {  // the formula has no value where the allocation is not live
      return;
    }
    if (!is_zero(difference))
      all.push_back({Kind::extra, of, ShapeSizes(difference.size(), 1), std::move(difference), 2,
                     "counted where it is not allocated"});
  }

  // Returns one mistake, or one change of all allocations, that explains the difference.
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

  // Returns whether an estimator can make all of these mistakes: they must not affect more equal allocations
  // than exist, nor count some too often while others are missing.
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
      if (one->kind == Kind::extra || one->of == Mistake::kAll) continue;
      const ShapeSizes& available = equal_[one->of].count;
      for (std::size_t shape = 0; shape < copies.size(); ++shape) {
        if (copies[shape] > available[shape]) return false;
      }
    }
    return true;
  }

  // Returns the reason for all allocations: `counted with 1/2 of their element size`.
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

  // Applies a change to the allocations `of`; null if none of them changes. `with_formulas`: see Tried.
  [[nodiscard]] std::optional<Changed> apply(const SizeChange& change, const Sizes& before,
                                             const std::vector<std::size_t>& of, bool with_formulas) const {
    std::vector<std::pair<std::size_t, ChangedSize>> changed;
    for (const std::size_t i : of) {
      auto other = change.apply(before[i].bytes, with_formulas ? before[i].formula : std::nullopt);
      if (other) changed.emplace_back(i, std::move(*other));
    }
    if (changed.empty()) return std::nullopt;
    Changed result{{Kind::wrong, Mistake::kAll, {}, {}, change.rank, change.reason}, &before, before};
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
      result.change.reason = of_all(change.reason);
      result.change.copies.resize(difference.size(), 0);
      return result;
    }
    const std::size_t only = changed.front().first;
    result.change.of = only;
    result.change.copies = equal_[only].count;
    result.change.each = difference_of(before[only].formula, result.after[only].formula);
    return result;
  }

  // Returns one or two changes of all allocations, followed by mistakes with the changed ones; or two
  // mistakes with the same allocation, one after the other.
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
      if (change.rank > kMaxRankOfThree) break;
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

  // Returns the changes, and one mistake that explains the rest, or two of the simplest.
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

  // A missing allocation is missing with its recorded bytes, so no change affects it.
  [[nodiscard]] Mistakes joined(const Chain& changes, Mistakes mistakes) const {
    Mistakes all;
    for (const Changed* const one : changes) all.push_back(one->change);
    for (Mistake& mistake : mistakes) {
      if (mistake.kind != Kind::missing) continue;
      const std::size_t of = mistake.of;
      for (std::size_t i = 0; i < changes.size(); ++i) {
        if (all[i].of != Mistake::kAll && all[i].of != of) continue;
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

  // Returns mistakes that explain the difference up to a multiple of 2³² at some shapes.
  [[nodiscard]] std::optional<FoundMistakes> overflow(const ShapeSizes& difference,
                                                      const ShapeSizes& estimated) const {
    const ShapeSizes recorded = add(difference, estimated);
    const auto with = [&](Mistakes mistakes, const ShapeSizes& explained) -> std::optional<FoundMistakes> {
      ShapeSizes lost = subtract(difference, explained);
      if (is_zero(lost) || !std::ranges::all_of(lost, [](Size bytes) { return bytes % kWrap == 0; }) ||
          !is_wrapped(subtract(recorded, explained), estimated))
        return std::nullopt;
      return FoundMistakes{std::move(mistakes), std::move(lost), true};
    };
    if (auto found = with({}, ShapeSizes(difference.size(), 0))) return found;
    for (const Mistake& one : mistakes_) {
      if (auto found = with({one}, one.difference)) return found;
    }
    for (const SizeChange& change : changes_) {
      const auto changed = apply(change, sizes_, all_, true);
      if (!changed) continue;
      if (auto found = with({changed->change}, changed->change.difference)) return found;
    }
    return std::nullopt;
  }

  // Returns whether an estimator that computes `right` in 32 bits, in total or for each value of an axis,
  // returns `estimated`.
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
  Sizes sizes_;                   // recorded sizes, one for each of `equal_`
  std::vector<std::size_t> all_;  // indices of all of them
  Mistakes mistakes_;
  ByDifference by_difference_;
};

}  // namespace

FoundMistakes find_mistakes(const Equal& equal, const Shapes& axes, const ShapeSizes& difference,
                            const ShapeSizes& estimated) {
  return MistakeSearch(equal, axes).find(difference, estimated);
}

}  // namespace peakmark
