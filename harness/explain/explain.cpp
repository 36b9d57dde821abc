#include "explain/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "explain/allocation_groups.hpp"
#include "sweep/choose_shapes.hpp"

namespace peakmark {
namespace {

// min(count, 1), which a remainder by 2 already is.
Expression at_most_one(const Expression& count) {
  using Operation = Expression::Operation;
  if (count.operation() == Operation::remainder && count.operands()[1].is_integer(2)) return count;
  return Expression::apply(Operation::min, {count, Expression(Size{1})});
}

class Explainer {
 public:
  Explainer(Fitters& fitters, const AllocationSequences& sequences)
      : shapes_(fitters.shapes()),
        sequences_(sequences),
        fitters_(fitters),
        groups_(group_allocations(sequences)),
        with_names_(shapes_) {}

  Explanation explain() {
    Explanation result;
    result.held_out = held_out_places(shapes_.count()).size();
    result.fitted = shapes_.count() - result.held_out;
    for (const MatchedAllocations& one : groups_) result.allocations.push_back(explain_group(one));
    result.unexplained_bytes = unexplained(result);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      bytes_.push_back(bytes_or_name(groups_[g], result.allocations[g]));
    find_moments(result);
    add_notes(result);
    return result;
  }

 private:
  [[nodiscard]] const SequencedAllocation& allocation(std::size_t shape, std::size_t index) const {
    return sequences_[shape].get()[index];
  }

  // Returns the formula of an allocation's bytes; where there is none, its name as an axis with the recorded
  // bytes as values. Null if the name is empty or that of another axis.
  std::optional<Expression> bytes_or_name(const MatchedAllocations& one,
                                          const ExplainedAllocation& explained) {
    if (explained.bytes.formula || explained.name.empty()) return explained.bytes.formula;
    if (with_names_.axis(explained.name) != nullptr) return std::nullopt;
    Shapes::Axis axis{explained.name, {}};
    for (std::size_t shape = 0; shape < one.members.size(); ++shape) {
      const auto& members = one.members[shape];
      axis.values.push_back(members.empty() ? 0 : allocation(shape, members.front()).bytes);
    }
    with_names_.axes.push_back(std::move(axis));
    return Expression::axis(explained.name);
  }

  ExplainedAllocation explain_group(const MatchedAllocations& one) {
    std::vector<Size> counts;
    std::vector<Size> bytes;
    std::vector<std::size_t> at;
    for (std::size_t shape = 0; shape < one.members.size(); ++shape) {
      counts.push_back(static_cast<Size>(one.members[shape].size()));
      if (one.members[shape].empty()) continue;
      at.push_back(shape);
      bytes.push_back(allocation(shape, one.members[shape].front()).bytes);
    }
    Figure count = fitters_.fit(all(), counts);
    // Too few shapes for a formula are enough to see that there is one of each.
    if (std::ranges::all_of(counts, [](Size one) { return one == 1; })) count.formula = Expression(Size{1});
    return {one.name, one.phase, one.where, std::move(count), fitters_.fit(at, bytes)};
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

  using Pattern = std::vector<bool>;  // which groups are live

  void find_moments(Explanation& result) {
    // Of each shape the most bytes of every pattern of live groups, and which pattern is its peak.
    std::vector<std::map<Pattern, LiveMoment>> moments(shapes_.count());
    std::map<Pattern, std::vector<std::size_t>> winners;
    std::vector<Size> peaks;
    for (std::size_t shape = 0; shape < shapes_.count(); ++shape) {
      for (LiveMoment& moment : high_points(sequences_[shape], groups_, shape)) {
        auto [found, is_new] = moments[shape].try_emplace(moment.pattern(), moment);
        if (!is_new && moment.bytes > found->second.bytes) found->second = std::move(moment);
      }
      const LiveMoment* peak = nullptr;
      for (const auto& [live, moment] : moments[shape]) {
        if (peak == nullptr || moment.bytes > peak->bytes) peak = &moment;
      }
      peaks.push_back(peak == nullptr ? 0 : peak->bytes);
      if (peak != nullptr) winners[peak->pattern()].push_back(shape);
    }
    std::vector<std::pair<Pattern, std::vector<std::size_t>>> by_wins(winners.begin(), winners.end());
    std::ranges::stable_sort(by_wins, std::greater{}, [](const auto& one) { return one.second.size(); });

    std::vector<bool> is_explained(shapes_.count(), false);
    for (const auto& [live, shapes] : by_wins) {
      if (std::ranges::all_of(shapes, [&](std::size_t shape) { return is_explained[shape]; })) continue;
      auto moment = formula(result, live, moments);
      if (!moment) continue;
      const auto bytes = evaluate(moment->bytes, with_names_);
      // A formula that is above a recorded peak somewhere is no moment of that shape.
      if (!bytes || !std::ranges::equal(*bytes, peaks, std::less_equal{})) continue;
      for (std::size_t shape = 0; shape < shapes_.count(); ++shape) {
        if ((*bytes)[shape] != peaks[shape]) continue;
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
    return std::ranges::any_of(axes, [&](const std::string& axis) { return shapes_.axis(axis) == nullptr; });
  }

  std::optional<PeakMoment> formula(const Explanation& result, const Pattern& live,
                                    const std::vector<std::map<Pattern, LiveMoment>>& moments) {
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
      const Figure& count = fitters_.fit(shapes, counts);
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

  void add_notes(Explanation& result) const {
    if (shapes_.count() < kMinExplainedShapes) {
      result.notes.push_back(fmt::format(
          "{} recorded: at least {} are needed for formulas",
          shapes_.count() == 1 ? "1 shape" : fmt::format("{} shapes", shapes_.count()), kMinExplainedShapes));
      return;
    }
    for (const ExplainedAllocation& one : result.allocations) {
      if (one.bytes.part)
        result.notes.push_back(fmt::format("{}: {} when {}; no formula otherwise", one.name,
                                           to_text(one.bytes.part->formula, ExpressionStyle::display),
                                           one.bytes.part->condition));
      if (!one.bytes.rival) continue;
      std::string shape;
      for (const auto& [axis, value] : one.bytes.deciding_shape)
        shape += fmt::format("{}{}={}", shape.empty() ? "" : " ", axis, value);
      result.notes.push_back(fmt::format("{}: {} gives the same bytes at all shapes; record {} to decide",
                                         one.name, to_text(*one.bytes.rival), shape));
    }
    std::vector<std::string> constant;
    for (const Shapes::Axis& axis : shapes_.axes) {
      if (is_constant(axis.values)) constant.push_back(fmt::format("{}={}", axis.name, axis.values.front()));
    }
    if (!constant.empty())
      result.notes.push_back(fmt::format(
          "{} at every shape: formulas do not show the part of {}; vary {}", fmt::join(constant, ", "),
          constant.size() == 1 ? "this axis" : "these axes", constant.size() == 1 ? "it" : "them"));
  }

  const Shapes& shapes_;
  const AllocationSequences& sequences_;
  Fitters& fitters_;
  std::vector<MatchedAllocations> groups_;
  Shapes with_names_;                             // and the allocations that have no formula as axes
  std::vector<std::optional<Expression>> bytes_;  // one a group: its formula or name
};

}  // namespace

bool Explanation::has_enough_shapes() const {
  return fitted + held_out >= kMinExplainedShapes;
}

std::optional<Expression> Explanation::peak() const {
  if (moments.empty()) return std::nullopt;
  Expression formula = moments.front().bytes;
  for (std::size_t i = 1; i < moments.size(); ++i)
    formula = Expression::apply(Expression::Operation::max, {formula, moments[i].bytes});
  return formula;
}

Explanation explain(Fitters& fitters, const AllocationSequences& sequences) {
  if (fitters.shapes().count() != sequences.size())
    throw UsageError(fmt::format("{} sequences for {} shapes: give one sequence a shape", sequences.size(),
                                 fitters.shapes().count()));
  if (sequences.empty()) throw UsageError("no shape was recorded: nothing can be explained");
  return Explainer(fitters, sequences).explain();
}

Explanation explain(const Shapes& shapes, const AllocationSequences& sequences) {
  Fitters fitters(shapes);
  return explain(fitters, sequences);
}

}  // namespace peakmark
