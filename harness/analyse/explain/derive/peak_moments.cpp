#include "analyse/explain/derive/peak_moments.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "analyse/explain/derive/formula_order.hpp"
#include "base/bisection.hpp"
#include "base/error.hpp"

namespace peakmark {
namespace {

using Pattern = std::vector<std::size_t>;  // the live groups, in order

// Maximum numbers of moments (those with the most bytes) that are examined, and that are compared at random
// shapes.
constexpr std::size_t kMaxExamined = 2000;
constexpr std::size_t kMaxCompared = 200;

// Returns min(count, 1); a remainder by 2 already has this form.
Expression at_most_one(const Expression& count) {
  using Operation = Expression::Operation;
  if (count.operation() == Operation::remainder && count.operands()[1].is_integer(2)) return count;
  return Expression::apply(Operation::min, {count, Expression(Size{1})});
}

// A moment, and facts for comparing it with others.
struct Candidate {
  PeakMoment moment;
  std::optional<FormulaOrder::Sum> sum;  // its bytes, expanded
  bool is_known =
      true;  // false: no formula describes at which shapes it occurs; its bytes are those where it does
};

class MomentFinder {
 public:
  explicit MomentFinder(const PeakSearch& search)
      : search_(search), moments_(search.sequences.size()), order_(search.shapes) {
    peaks_.reserve(moments_.size());
    for (std::size_t shape = 0; shape < moments_.size(); ++shape) {
      for (LiveMoment& moment : high_points(search_.sequences[shape], search_.groups, shape)) {
        auto [found, is_new] = moments_[shape].try_emplace(moment.pattern(), moment);
        if (!is_new && moment.bytes > found->second.bytes) found->second = std::move(moment);
      }
      Size peak = 0;
      for (const auto& [live, moment] : moments_[shape]) peak = std::max(peak, moment.bytes);
      peaks_.push_back(peak);
    }
  }

  PeakMoments find() {
    PeakMoments result;
    std::vector<Candidate> kept = recorded_peaks();
    if (kept.empty()) return result;
    add_peaks_beyond(kept, result.unknown_beyond);
    for (Candidate& one : kept) {
      if (one.moment.shapes.empty()) one.moment.example = simplified(one.moment, kept);
    }
    result.moments.reserve(kept.size());
    for (Candidate& one : kept) result.moments.push_back(std::move(one.moment));
    return result;
  }

 private:
  // Returns moments that are the peaks of all recorded shapes; empty if a peak has no formula.
  std::vector<Candidate> recorded_peaks() {
    std::map<Pattern, std::vector<std::size_t>> winners;
    for (std::size_t shape = 0; shape < moments_.size(); ++shape) {
      const auto peak = std::ranges::find_if(
          moments_[shape], [&](const auto& one) { return one.second.bytes == peaks_[shape]; });
      if (peak != moments_[shape].end()) winners[peak->first].push_back(shape);
    }
    std::vector<std::pair<Pattern, std::vector<std::size_t>>> by_wins(winners.begin(), winners.end());
    std::ranges::stable_sort(by_wins, std::greater{}, [](const auto& one) { return one.second.size(); });

    std::vector<Candidate> kept;
    std::vector<bool> is_explained(moments_.size(), false);
    for (const auto& [live, shapes] : by_wins) {
      if (std::ranges::all_of(shapes, [&](std::size_t shape) { return is_explained[shape]; })) continue;
      auto moment = formula(live);
      if (!moment) continue;
      const auto bytes = evaluate(moment->bytes, search_.shapes);
      // If a formula exceeds a recorded peak, it is not a moment of that shape.
      if (!bytes || !std::ranges::equal(*bytes, peaks_, std::less_equal{})) continue;
      for (std::size_t shape = 0; shape < moments_.size(); ++shape) {
        if ((*bytes)[shape] != peaks_[shape]) continue;
        if (!is_explained[shape]) moment->shapes.push_back(shape);
        is_explained[shape] = true;
      }
      kept.push_back(candidate(std::move(*moment)));
    }
    if (std::ranges::find(is_explained, false) != is_explained.end()) kept.clear();
    drop_lesser(kept);
    return kept;
  }

  [[nodiscard]] bool is_never_less(const Candidate& one, const Candidate& other) const {
    return one.sum && other.sum && order_.is_never_less(*one.sum, *other.sum);
  }

  // Removes moments that another one is never less than, such as one with an additional allocation that may
  // be 0.
  void drop_lesser(std::vector<Candidate>& kept) const {
    for (std::size_t i = 0; i < kept.size();) {
      const auto more = std::ranges::find_if(
          kept, [&](const Candidate& one) { return &one != &kept[i] && is_never_less(one, kept[i]); });
      if (more == kept.end()) {
        ++i;
        continue;
      }
      std::vector<std::size_t>& shapes = more->moment.shapes;
      shapes.insert(shapes.end(), kept[i].moment.shapes.begin(), kept[i].moment.shapes.end());
      std::ranges::sort(shapes);
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void add_peaks_beyond(std::vector<Candidate>& kept, std::set<std::string>& unknown) {
    std::vector<Candidate> others = unproven(kept, unknown);
    if (others.empty()) return;
    const bool is_partial =
        std::ranges::any_of(kept, [](const Candidate& one) { return one.moment.is_partial; });
    const Shapes far = far_shapes(search_.shapes, formulas(kept, others));
    std::vector<Size> peaks(far.count(), 0);
    for (const Candidate& one : kept) raise(peaks, *evaluate(one.moment.bytes, far));
    // Those that can be part of the formula come first.
    const auto is_usable = [&](const Candidate& one) {
      return one.is_known && (is_partial || !one.moment.is_partial);
    };
    const auto unusable = std::stable_partition(others.begin(), others.end(), is_usable);
    const auto usable = static_cast<std::size_t>(unusable - others.begin());
    std::vector<std::vector<Size>> bytes;
    bytes.reserve(others.size());
    for (const Candidate& one : others) bytes.push_back(*evaluate(one.moment.bytes, far));
    const auto wins = [&](std::size_t i) {
      std::size_t count = 0;
      for (std::size_t shape = 0; shape < far.count(); ++shape)
        count += bytes[i][shape] > peaks[shape] ? 1 : 0;
      return count;
    };
    while (true) {
      // The next moment is the one that is the peak of the most shapes.
      std::size_t best = 0;
      std::size_t most = 0;
      for (std::size_t i = 0; i < usable; ++i) {
        if (const std::size_t count = wins(i); count > most) {
          best = i;
          most = count;
        }
      }
      if (most == 0) break;
      std::size_t example = 0;
      while (bytes[best][example] <= peaks[example]) ++example;
      raise(peaks, bytes[best]);
      Candidate one = others[best];
      one.moment.example = far.subset(std::span(&example, 1));
      kept.push_back(std::move(one));
    }
    for (std::size_t i = usable; i < others.size(); ++i) {
      if (wins(i) > 0) add_unknown(others[i].moment.allocations, unknown);
    }
  }

  // Adds the names of the allocations of a moment that have no formula, or of all if each has one.
  void add_unknown(const std::vector<std::size_t>& allocations, std::set<std::string>& unknown) const {
    std::set<std::string> without_formula;
    std::set<std::string> all;
    for (const std::size_t g : allocations) {
      const std::optional<Expression>& bytes = search_.bytes[g];
      const std::string& name = bytes && is_name(*bytes) ? bytes->name() : search_.groups[g].name;
      all.insert(name);
      if (!bytes || is_name(*bytes) || !search_.counts[g]) without_formula.insert(name);
    }
    unknown.merge(without_formula.empty() ? all : without_formula);
  }

  // Returns the moments that are not proven to need at most as much as another one. Adds to `unknown` the
  // allocations without a formula in moments whose bytes have none.
  std::vector<Candidate> unproven(const std::vector<Candidate>& kept, std::set<std::string>& unknown) {
    std::vector<Candidate> others;
    const auto is_dominated = [&](const Candidate& one) {
      const auto is_more = [&](const Candidate& more) { return more.is_known && is_never_less(more, one); };
      return std::ranges::any_of(kept, is_more) || std::ranges::any_of(others, is_more);
    };
    for (const Pattern& live : largest_patterns()) {
      if (others.size() == kMaxCompared) break;
      auto moment = formula(live);
      if (!moment) {
        add_unknown(live, unknown);
        continue;
      }
      const bool is_known = occurs_as_recorded(*moment, live);
      if (!is_known) moment->bytes = Expression::add(moment->terms);
      Candidate one = candidate(std::move(*moment));
      one.is_known = is_known;
      if (!is_dominated(one)) others.push_back(std::move(one));
    }
    return others;
  }

  // Returns the patterns, sorted by their largest bytes as a share of the peak of the same shape.
  [[nodiscard]] std::vector<Pattern> largest_patterns() const {
    std::map<Pattern, double> shares;
    for (std::size_t shape = 0; shape < moments_.size(); ++shape) {
      for (const auto& [live, moment] : moments_[shape]) {
        double& share = shares[live];
        share = std::max(share, static_cast<double>(moment.bytes) / static_cast<double>(peaks_[shape] + 1));
      }
    }
    std::vector<std::pair<Pattern, double>> sorted(shares.begin(), shares.end());
    std::ranges::stable_sort(sorted, std::greater{}, &std::pair<Pattern, double>::second);
    sorted.resize(std::min(sorted.size(), kMaxExamined));
    std::vector<Pattern> patterns;
    patterns.reserve(sorted.size());
    for (auto& [live, share] : sorted) patterns.push_back(std::move(live));
    return patterns;
  }

  // Returns whether the formula equals the moment where the moment occurs, and elsewhere is 0 or a part of
  // what is live at another moment.
  [[nodiscard]] bool occurs_as_recorded(const PeakMoment& moment, const Pattern& live) const {
    const auto bytes = evaluate(moment.bytes, search_.shapes);
    if (!bytes) return false;
    for (std::size_t shape = 0; shape < moments_.size(); ++shape) {
      const Size value = (*bytes)[shape];
      const auto recorded = moments_[shape].find(live);
      if (recorded != moments_[shape].end() ? value != recorded->second.bytes
                                            : value != 0 && !is_part(live, value, shape))
        return false;
    }
    return true;
  }

  [[nodiscard]] bool is_part(const Pattern& live, Size bytes, std::size_t shape) const {
    return std::ranges::any_of(moments_[shape], [&](const auto& one) {
      return one.second.bytes >= bytes && std::ranges::includes(one.first, live);
    });
  }

  Candidate candidate(PeakMoment moment) {
    auto sum = order_.multiplied_out(moment.bytes);
    return {std::move(moment), std::move(sum)};
  }

  static void raise(std::vector<Size>& peaks, const std::vector<Size>& bytes) {
    for (std::size_t i = 0; i < peaks.size(); ++i) peaks[i] = std::max(peaks[i], bytes[i]);
  }

  // Returns all formulas of moments, and their terms, without duplicates.
  static std::vector<Expression> formulas(const std::vector<Candidate>& kept,
                                          const std::vector<Candidate>& others) {
    std::vector<Expression> all;
    const auto add = [&](const Expression& one) {
      if (std::ranges::find(all, one) == all.end()) all.push_back(one);
    };
    for (const auto* const candidates : {&kept, &others}) {
      for (const Candidate& one : *candidates) {
        std::ranges::for_each(one.moment.terms, add);
        add(one.moment.bytes);
      }
    }
    return all;
  }

  [[nodiscard]] bool is_name(const std::string& axis) const {
    return search_.fitters.shapes().axis(axis) == nullptr;
  }
  [[nodiscard]] bool is_name(const Expression& bytes) const {
    return bytes.operation() == Expression::Operation::axis && is_name(bytes.name());
  }

  // Returns the example of a moment. As many axes as possible have the value of the largest recorded peak,
  // and the others are as near to it as possible, as long as the moment is the peak.
  [[nodiscard]] Shapes simplified(const PeakMoment& moment, const std::vector<Candidate>& all) const {
    Shapes shape = moment.example;
    const auto largest = static_cast<std::size_t>(std::ranges::max_element(peaks_) - peaks_.begin());
    const auto try_value = [&](Size& value, Size wanted) {
      const Size before = std::exchange(value, wanted);
      if (is_peak(moment, all, shape)) return true;
      value = before;
      return false;
    };
    for (std::size_t axis = 0; axis < shape.axes.size(); ++axis) {
      Size& value = shape.axes[axis].values.front();
      const Size near = search_.shapes.axes[axis].values[largest];
      if (try_value(value, near)) continue;
      value = bisect(value, near, [&](Size middle) { return try_value(value, middle); });
    }
    std::erase_if(shape.axes, [&](const Shapes::Axis& axis) { return is_name(axis.name); });
    return shape;
  }

  static bool is_peak(const PeakMoment& moment, const std::vector<Candidate>& all, const Shapes& shape) {
    try {
      const Size bytes = evaluate(moment.bytes, shape, 0);
      return std::ranges::all_of(all, [&](const Candidate& one) {
        return (&one.moment == &moment || evaluate(one.moment.bytes, shape, 0) < bytes) &&
               std::ranges::all_of(one.moment.terms,
                                   [&](const Expression& term) { return evaluate(term, shape, 0) >= 0; });
      });
    } catch (const Error&) {
      return false;
    }
  }

  std::optional<PeakMoment> formula(const Pattern& live) {
    std::vector<std::size_t> shapes;
    for (std::size_t shape = 0; shape < moments_.size(); ++shape) {
      if (moments_[shape].contains(live)) shapes.push_back(shape);
    }
    PeakMoment moment;
    std::vector<Expression> terms;
    std::vector<Expression> guards;  // 1 if the moment occurs, else 0
    for (const std::size_t g : live) {
      if (std::ranges::any_of(search_.groups[g].members, [](const auto& one) { return one.empty(); })) {
        const auto& how_many = search_.counts[g];
        // A name is 0 at shapes without the allocation.
        const bool is_zero_elsewhere = search_.bytes[g] && is_name(*search_.bytes[g]);
        if (!how_many && !is_zero_elsewhere) return std::nullopt;
        if (how_many) {
          Expression guard = at_most_one(*how_many);
          if (std::ranges::find(guards, guard) == guards.end()) guards.push_back(std::move(guard));
        }
      }
      std::vector<Size> counts;
      counts.reserve(shapes.size());
      for (const std::size_t shape : shapes) counts.push_back(moments_[shape].at(live).count(g));
      const bool is_once = std::ranges::all_of(counts, [](Size one) { return one == 1; });
      const auto count = is_once ? Expression(Size{1}) : search_.fitters.fit(shapes, counts).formula;
      if (!search_.bytes[g] || !count) return std::nullopt;
      terms.push_back(Expression::multiply({*count, *search_.bytes[g]}));
      moment.allocations.push_back(g);
    }
    moment.terms = terms;
    moment.is_sum_of_terms = guards.empty();
    guards.push_back(Expression::add(std::move(terms)));
    moment.bytes = Expression::multiply(std::move(guards));
    moment.is_partial =
        std::ranges::any_of(moment.bytes.axes(), [&](const std::string& axis) { return is_name(axis); });
    return moment;
  }

  const PeakSearch& search_;
  std::vector<std::map<Pattern, LiveMoment>> moments_;  // for each shape: the largest bytes of every pattern
  std::vector<Size> peaks_;                             // for each shape
  FormulaOrder order_;
};

}  // namespace

PeakMoments find_peak_moments(const PeakSearch& search) {
  return MomentFinder(search).find();
}

}  // namespace peakmark
