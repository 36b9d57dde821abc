#include "explain/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.hpp"

namespace peakmark {
namespace {

// Fewer shapes than this say too little: a line through two points is no proof.
constexpr std::size_t kMinShapes = 6;
// Every fourth shape is held out, and the last where that is less than a quarter.
std::vector<std::size_t> held_out_shapes(std::size_t count) {
  std::vector<std::size_t> shapes;
  for (std::size_t shape = 3; shape < count; shape += 4) shapes.push_back(shape);
  if (shapes.size() * 4 < count && count > 1) shapes.push_back(count - 1);
  return shapes;
}

using Key = std::tuple<std::string, std::string, std::string>;  // phase, name, where

// Allocations that play one part: of each shape the indices into its sequence, in order.
struct Group {
  Key key;
  std::vector<std::vector<std::size_t>> members;  // one a shape
};

// Groups by key; allocations of a key that come equally often at every shape get a group each, by their
// order.
std::vector<Group> group(const AllocationSequences& sequences) {
  std::vector<Key> order;
  std::map<Key, std::vector<std::vector<std::size_t>>> by_key;
  for (std::size_t shape = 0; shape < sequences.size(); ++shape) {
    const AllocationSequence& sequence = sequences[shape];
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      const SequencedAllocation& allocation = sequence[i];
      const Key key{allocation.phase, allocation.name, allocation.where};
      auto [found, is_new] = by_key.try_emplace(key, sequences.size());
      if (is_new) order.push_back(key);
      found->second[shape].push_back(i);
    }
  }
  std::vector<Group> groups;
  for (const Key& key : order) {
    const auto& members = by_key.at(key);
    const std::size_t count = members.front().size();
    const bool is_fixed = std::ranges::all_of(members, [&](const auto& one) { return one.size() == count; });
    bool is_uniform = true;
    for (std::size_t shape = 0; shape < members.size(); ++shape) {
      const AllocationSequence& sequence = sequences[shape];
      for (const std::size_t i : members[shape])
        is_uniform = is_uniform && sequence[i].bytes == sequence[members[shape].front()].bytes;
    }
    if (is_uniform) {
      groups.push_back({key, members});
    } else if (is_fixed) {
      for (std::size_t ordinal = 0; ordinal < count; ++ordinal) {
        Group one{key, {}};
        for (const auto& all : members) one.members.push_back({all[ordinal]});
        groups.push_back(std::move(one));
      }
    } else {
      // A loop whose last round is smaller: the rest of a chunked axis.
      Group rounds{key, {}};
      Group last{key, {}};
      for (const auto& all : members) {
        rounds.members.emplace_back(all.begin(), all.empty() ? all.end() : all.end() - 1);
        last.members.emplace_back(all.empty() ? all.end() : all.end() - 1, all.end());
      }
      groups.push_back(std::move(rounds));
      groups.push_back(std::move(last));
    }
  }
  return groups;
}

// Fitters of subsets of the shapes, each prepared once.
class Fitters {
 public:
  explicit Fitters(const Shapes& shapes) : shapes_(shapes) {}

  Figure fit(const std::vector<std::size_t>& at, const std::vector<Size>& sizes) {
    Figure figure = fit_unbounded(at, sizes);
    if (!figure.formula) figure.formula = fit_bounded(at, sizes);
    return figure;
  }

 private:
  // Finds `min(formula, bound)` or `max(formula, bound)` where several shapes have the largest or smallest
  // size: the formula is fitted without these.
  std::optional<Expression> fit_bounded(const std::vector<std::size_t>& at, const std::vector<Size>& sizes) {
    if (sizes.empty()) return std::nullopt;
    const auto [smallest, largest] = std::ranges::minmax(sizes);
    for (const bool is_upper : {true, false}) {
      const Size bound = is_upper ? largest : smallest;
      std::vector<std::size_t> inside;
      std::vector<std::size_t> outside;
      std::vector<Size> inside_sizes;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        (sizes[i] == bound ? outside : inside).push_back(at[i]);
        if (sizes[i] != bound) inside_sizes.push_back(sizes[i]);
      }
      if (outside.size() < 2 || inside.size() < kMinShapes) continue;
      const auto formula = fit_unbounded(inside, inside_sizes).formula;
      const auto is_beyond = [&](std::size_t shape) {
        const Size value = evaluate(*formula, shapes_, shape);
        return is_upper ? value >= bound : value <= bound;
      };
      using Operation = Expression::Operation;
      if (formula && std::ranges::all_of(outside, is_beyond))
        return Expression::apply(is_upper ? Operation::min : Operation::max, {*formula, Expression(bound)});
    }
    return std::nullopt;
  }

  Figure fit_unbounded(const std::vector<std::size_t>& at, const std::vector<Size>& sizes) {
    Figure figure{std::nullopt, sizes, at, sizes.empty() ? 0 : std::ranges::max(sizes), {}, {}};
    if (at.size() < kMinShapes) return figure;
    auto& entry = fitters_[at];
    if (!entry.fitter) {
      Shapes part;
      for (const Shapes::Axis& axis : shapes_.axes) {
        part.axes.push_back({axis.name, {}});
        for (const std::size_t shape : at) part.axes.back().values.push_back(axis.values[shape]);
      }
      entry.fitter = std::make_unique<Fitter>(std::move(part), held_out_shapes(at.size()));
    }
    const auto [found, is_new] = entry.known.try_emplace(sizes);
    if (is_new) found->second = entry.fitter->fit(sizes);
    if (!found->second) return figure;
    figure.formula = found->second->formula;
    figure.rival = found->second->rival;
    for (std::size_t axis = 0; axis < found->second->deciding_shape.size(); ++axis)
      figure.deciding_shape.emplace_back(shapes_.axes[axis].name, found->second->deciding_shape[axis]);
    return figure;
  }

  struct Entry {
    std::unique_ptr<Fitter> fitter;
    std::map<std::vector<Size>, std::optional<Fit>> known;
  };
  const Shapes& shapes_;
  std::map<std::vector<std::size_t>, Entry> fitters_;
};

// What is live at a moment: how many allocations of each group.
using Live = std::vector<Size>;

struct Moment {
  Live live;
  Size bytes = 0;
};

// The moments of a sequence that no later moment without a release between exceeds: just before each run of
// releases, and the end.
std::vector<Moment> high_points(const AllocationSequence& sequence, const std::vector<std::size_t>& group_of,
                                std::size_t groups) {
  std::map<Size, std::pair<bool, std::size_t>> steps;  // step → (is release, allocation)
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    steps[sequence[i].allocated_at] = {false, i};
    if (sequence[i].released_at) steps[*sequence[i].released_at] = {true, i};
  }
  std::vector<Moment> found;
  Moment now{Live(groups, 0), 0};
  bool is_rising = false;
  for (const auto& [step, what] : steps) {
    const auto& [is_release, i] = what;
    if (is_release) {
      if (is_rising) found.push_back(now);
      is_rising = false;
      --now.live[group_of[i]];
      now.bytes -= sequence[i].bytes;
    } else {
      is_rising = true;
      ++now.live[group_of[i]];
      now.bytes = checked_add(now.bytes, sequence[i].bytes);
    }
  }
  if (is_rising) found.push_back(now);
  return found;
}

// Which groups are live, whatever their number.
std::vector<bool> pattern(const Live& live) {
  std::vector<bool> result;
  for (const Size count : live) result.push_back(count > 0);
  return result;
}

// min(count, 1), which a remainder by 2 already is.
Expression at_most_one(const Expression& count) {
  using Operation = Expression::Operation;
  if (count.operation() == Operation::remainder && count.operands()[1].is_integer(2)) return count;
  return Expression::apply(Operation::min, {count, Expression(Size{1})});
}

class Explainer {
 public:
  Explainer(const Shapes& shapes, const AllocationSequences& sequences)
      : shapes_(shapes),
        sequences_(sequences),
        fitters_(shapes),
        groups_(group(sequences)),
        with_names_(shapes) {}

  Explanation explain() {
    Explanation result;
    result.held_out = held_out_shapes(shapes_.count()).size();
    result.fitted = shapes_.count() - result.held_out;
    for (const Group& one : groups_) result.allocations.push_back(explain_group(one));
    result.unexplained_bytes = unexplained(result);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      bytes_.push_back(bytes_or_name(groups_[g], result.allocations[g]));
    find_moments(result);
    add_notes(result);
    return result;
  }

 private:
  // Returns the formula of an allocation's bytes; where there is none, its name as an axis with the recorded
  // bytes as values. Null if the name is empty or that of another axis.
  std::optional<Expression> bytes_or_name(const Group& one, const ExplainedAllocation& explained) {
    if (explained.bytes.formula || explained.name.empty()) return explained.bytes.formula;
    const auto is_taken = [&](const Shapes::Axis& axis) { return axis.name == explained.name; };
    if (std::ranges::any_of(with_names_.axes, is_taken)) return std::nullopt;
    Shapes::Axis axis{explained.name, {}};
    for (std::size_t shape = 0; shape < one.members.size(); ++shape) {
      const auto& members = one.members[shape];
      axis.values.push_back(members.empty() ? 0 : allocation(shape, members.front()).bytes);
    }
    with_names_.axes.push_back(std::move(axis));
    return Expression::axis(explained.name);
  }

  ExplainedAllocation explain_group(const Group& one) {
    std::vector<Size> counts;
    std::vector<Size> bytes;
    std::vector<std::size_t> at;
    for (std::size_t shape = 0; shape < one.members.size(); ++shape) {
      counts.push_back(static_cast<Size>(one.members[shape].size()));
      if (one.members[shape].empty()) continue;
      at.push_back(shape);
      bytes.push_back(allocation(shape, one.members[shape].front()).bytes);
    }
    const auto& [phase, name, where] = one.key;
    Figure count = fitters_.fit(all(), counts);
    // Too few shapes for a formula are enough to see that there is one of each.
    if (std::ranges::all_of(counts, [](Size one) { return one == 1; })) count.formula = Expression(Size{1});
    return {name, phase, where, std::move(count), fitters_.fit(at, bytes)};
  }

  [[nodiscard]] const SequencedAllocation& allocation(std::size_t shape, std::size_t index) const {
    return sequences_[shape].get()[index];
  }

  [[nodiscard]] std::vector<std::size_t> all() const {
    std::vector<std::size_t> shapes(shapes_.count());
    for (std::size_t i = 0; i < shapes.size(); ++i) shapes[i] = i;
    return shapes;
  }

  [[nodiscard]] Size unexplained(const Explanation& result) const {
    Size most = 0;
    for (std::size_t shape = 0; shape < shapes_.count(); ++shape) {
      Size sum = 0;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        if (result.allocations[g].bytes.formula && result.allocations[g].count.formula) continue;
        for (const std::size_t i : groups_[g].members[shape])
          sum = checked_add(sum, allocation(shape, i).bytes);
      }
      most = std::max(most, sum);
    }
    return most;
  }

  void find_moments(Explanation& result) {
    // Of each shape the most bytes of every pattern of live groups, and which pattern is its peak.
    std::vector<std::map<std::vector<bool>, Moment>> moments(shapes_.count());
    std::map<std::vector<bool>, std::vector<std::size_t>> winners;
    std::vector<Size> peaks;
    for (std::size_t shape = 0; shape < shapes_.count(); ++shape) {
      std::vector<std::size_t> group_of(sequences_[shape].get().size());
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        for (const std::size_t i : groups_[g].members[shape]) group_of[i] = g;
      }
      const Moment* peak = nullptr;
      for (Moment& moment : high_points(sequences_[shape], group_of, groups_.size())) {
        auto [found, is_new] = moments[shape].try_emplace(pattern(moment.live), moment);
        if (!is_new && moment.bytes > found->second.bytes) found->second = moment;
      }
      for (const auto& [live, moment] : moments[shape]) {
        if (peak == nullptr || moment.bytes > peak->bytes) peak = &moment;
      }
      peaks.push_back(peak == nullptr ? 0 : peak->bytes);
      if (peak != nullptr) winners[pattern(peak->live)].push_back(shape);
    }
    std::vector<std::pair<std::vector<bool>, std::vector<std::size_t>>> by_wins(winners.begin(),
                                                                                winners.end());
    std::ranges::stable_sort(by_wins, std::greater{}, [](const auto& one) { return one.second.size(); });

    std::vector<bool> is_explained(shapes_.count(), false);
    for (const auto& [live, shapes] : by_wins) {
      if (std::ranges::all_of(shapes, [&](std::size_t shape) { return is_explained[shape]; })) continue;
      auto moment = formula(result, live, moments);
      if (!moment || exceeds(*moment, peaks)) continue;
      for (std::size_t shape = 0; shape < shapes_.count(); ++shape) {
        if (at(moment->bytes, shape) != peaks[shape]) continue;
        if (!is_explained[shape]) moment->shapes.push_back(shape);
        is_explained[shape] = true;
      }
      result.moments.push_back(std::move(*moment));
    }
    if (std::ranges::find(is_explained, false) != is_explained.end()) {
      result.moments.clear();
    } else if (std::ranges::any_of(result.moments, [&](const PeakMoment& one) { return has_names(one); })) {
      result.partial_moments = std::exchange(result.moments, {});
    } else if (!result.moments.empty()) {
      result.worst_bytes_off = 0;
    }
  }

  [[nodiscard]] bool has_names(const PeakMoment& moment) const {
    const std::vector<std::string> axes = moment.bytes.axes();
    return std::ranges::any_of(axes, [&](const std::string& axis) {
      return std::ranges::find(shapes_.axes, axis, &Shapes::Axis::name) == shapes_.axes.end();
    });
  }

  std::optional<PeakMoment> formula(const Explanation& result, const std::vector<bool>& live,
                                    const std::vector<std::map<std::vector<bool>, Moment>>& moments) {
    std::vector<std::size_t> shapes;
    for (std::size_t shape = 0; shape < shapes_.count(); ++shape) {
      if (moments[shape].contains(live)) shapes.push_back(shape);
    }
    PeakMoment moment;
    std::vector<Expression> terms;
    std::vector<Expression> guards;  // 1 where the moment occurs, else 0
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!live[g]) continue;
      if (std::ranges::any_of(groups_[g].members, [](const auto& one) { return one.empty(); })) {
        const auto& how_many = result.allocations[g].count.formula;
        if (!how_many) return std::nullopt;
        Expression guard = at_most_one(*how_many);
        if (std::ranges::find(guards, guard) == guards.end()) guards.push_back(std::move(guard));
      }
      std::vector<Size> counts;
      counts.reserve(shapes.size());
      for (const std::size_t shape : shapes) counts.push_back(moments[shape].at(live).live[g]);
      const Figure count = fitters_.fit(shapes, counts);
      const bool is_once = std::ranges::all_of(counts, [](Size one) { return one == 1; });
      if (!bytes_[g] || !(count.formula || is_once)) return std::nullopt;
      terms.push_back(Expression::multiply({is_once ? Expression(Size{1}) : *count.formula, *bytes_[g]}));
      moment.allocations.push_back(g);
    }
    moment.terms = terms;
    moment.is_sum_of_terms = guards.empty();
    guards.push_back(Expression::add(std::move(terms)));
    moment.bytes = Expression::multiply(std::move(guards));
    return moment;
  }

  // A formula that is above a recorded peak somewhere is no moment of that shape.
  [[nodiscard]] bool exceeds(const PeakMoment& moment, const std::vector<Size>& peaks) const {
    for (std::size_t shape = 0; shape < shapes_.count(); ++shape) {
      if (at(moment.bytes, shape) > peaks[shape]) return true;
    }
    return false;
  }

  [[nodiscard]] Size at(const Expression& formula, std::size_t shape) const {
    return evaluate(formula, with_names_, shape);
  }

  void add_notes(Explanation& result) const {
    if (shapes_.count() < kMinShapes) {
      result.notes.push_back(fmt::format(
          "{} recorded: at least {} are needed for formulas",
          shapes_.count() == 1 ? "1 shape" : fmt::format("{} shapes", shapes_.count()), kMinShapes));
      return;
    }
    for (const ExplainedAllocation& one : result.allocations) {
      if (!one.bytes.rival) continue;
      std::string shape;
      for (const auto& [axis, value] : one.bytes.deciding_shape)
        shape += fmt::format("{}{}={}", shape.empty() ? "" : " ", axis, value);
      result.notes.push_back(fmt::format("{}: {} gives the same bytes at all shapes; record {} to decide",
                                         one.name, to_text(*one.bytes.rival), shape));
    }
    std::vector<std::string> constant;
    for (const Shapes::Axis& axis : shapes_.axes) {
      if (!axis.values.empty() &&
          std::ranges::adjacent_find(axis.values, std::not_equal_to{}) == axis.values.end())
        constant.push_back(fmt::format("{}={}", axis.name, axis.values.front()));
    }
    if (!constant.empty())
      result.notes.push_back(fmt::format(
          "{} at every shape: formulas do not show the part of {}; vary {}", fmt::join(constant, ", "),
          constant.size() == 1 ? "this axis" : "these axes", constant.size() == 1 ? "it" : "them"));
  }

  const Shapes& shapes_;
  const AllocationSequences& sequences_;
  Fitters fitters_;
  std::vector<Group> groups_;
  Shapes with_names_;                             // and the allocations that have no formula as axes
  std::vector<std::optional<Expression>> bytes_;  // one a group: its formula or name
};

}  // namespace

bool Explanation::has_enough_shapes() const {
  return fitted + held_out >= kMinShapes;
}

std::optional<Expression> Explanation::peak() const {
  if (moments.empty()) return std::nullopt;
  Expression formula = moments.front().bytes;
  for (std::size_t i = 1; i < moments.size(); ++i)
    formula = Expression::apply(Expression::Operation::max, {formula, moments[i].bytes});
  return formula;
}

Explanation explain(const Shapes& shapes, const AllocationSequences& sequences) {
  if (shapes.count() != sequences.size())
    throw UsageError(fmt::format("{} sequences for {} shapes: give one sequence a shape", sequences.size(),
                                 shapes.count()));
  if (sequences.empty()) throw UsageError("no shape was recorded: nothing can be explained");
  return Explainer(shapes, sequences).explain();
}

}  // namespace peakmark
