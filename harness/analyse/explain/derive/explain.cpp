#include "analyse/explain/derive/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "analyse/explain/derive/allocation_groups.hpp"
#include "analyse/explain/search/shapes.hpp"
#include "base/error.hpp"
#include "measure/sweep/choose_shapes.hpp"

namespace peakmark {
namespace {

// Returns the maximum of the moments.
std::optional<Expression> maximum(const std::vector<PeakMoment>& moments) {
  if (moments.empty()) return std::nullopt;
  Expression formula = moments.front().bytes;
  for (std::size_t i = 1; i < moments.size(); ++i)
    formula = Expression::apply(Expression::Operation::max, {formula, moments[i].bytes});
  return formula;
}

class Explainer {
 public:
  Explainer(Fitters& fitters, const AllocationSequences& sequences)
      : shapes_(fitters.shapes()),
        sequences_(sequences),
        fitters_(fitters),
        groups_(group_allocations(sequences)),
        sites_(short_call_sites(sequences)),
        with_names_(shapes_) {}

  Explanation explain() {
    Explanation result;
    result.held_out = held_out_places(shapes_.count()).size();
    result.fitted = shapes_.count() - result.held_out;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      result.allocations.push_back(explain_group(groups_[g]));
      if (g > 0 && is_last_round(g) && !result.allocations[g - 1].bytes.formula &&
          !result.allocations[g].bytes.formula) {
        join_last_round(g--);
        result.allocations.pop_back();
        result.allocations.back() = explain_group(groups_[g]);
      }
    }
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

  // Returns whether the previous group has the other rounds of a loop (group_allocations()).
  [[nodiscard]] bool is_last_round(std::size_t g) const {
    const MatchedAllocations& rounds = groups_[g - 1];
    const MatchedAllocations& last = groups_[g];
    return phased_key(rounds) == phased_key(last) &&
           std::ranges::any_of(rounds.members, [](const auto& one) { return one.size() != 1; });
  }

  // If there is no formula even for the last round, the rounds are joined: one allocation that is made
  // repeatedly.
  void join_last_round(std::size_t g) {
    for (std::size_t shape = 0; shape < shapes_.count(); ++shape) {
      const auto& last = groups_[g].members[shape];
      auto& rounds = groups_[g - 1].members[shape];
      rounds.insert(rounds.end(), last.begin(), last.end());
    }
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(g));
  }

  // Returns whether the allocation exists only at some shapes, and no formula describes which.
  [[nodiscard]] static bool is_there_unknown(const MatchedAllocations& one,
                                             const ExplainedAllocation& explained) {
    return !explained.count.formula &&
           std::ranges::any_of(one.members, [](const auto& shape) { return shape.empty(); });
  }

  // Returns the formula of an allocation's bytes. If there is none, or none for the shapes at which the
  // allocation exists, returns its name (or call site) as an axis whose values are the recorded bytes: for
  // each shape the largest. Null if there is neither, or an axis with other values has the name.
  std::optional<Expression> bytes_or_name(const MatchedAllocations& one,
                                          const ExplainedAllocation& explained) {
    if (!is_there_unknown(one, explained)) {
      if (explained.bytes.formula) return explained.bytes.formula;
      if (explained.largest) return explained.largest;
    }
    const std::string name = explained.name.empty() ? sites_.at(explained.where) : explained.name;
    if (name.empty()) return std::nullopt;
    Shapes::Axis axis{name, {}};
    for (std::size_t shape = 0; shape < one.members.size(); ++shape)
      axis.values.push_back(largest_bytes(one, shape));
    if (const Shapes::Axis* const same = with_names_.axis(name); same == nullptr) {
      with_names_.axes.push_back(std::move(axis));
    } else if (*same != axis) {
      return std::nullopt;
    }
    return Expression::axis(name);
  }

  ExplainedAllocation explain_group(const MatchedAllocations& one) {
    std::vector<std::size_t> all;
    std::vector<Size> counts;
    std::vector<std::size_t> at;
    std::vector<Size> bytes;  // the largest of each shape
    for (std::size_t shape = 0; shape < one.members.size(); ++shape) {
      all.push_back(shape);
      counts.push_back(static_cast<Size>(one.members[shape].size()));
      if (one.members[shape].empty()) continue;
      at.push_back(shape);
      bytes.push_back(largest_bytes(one, shape));
    }
    ExplainedAllocation explained{one, fitters_.fit(all, counts), fitters_.fit(at, bytes)};
    Figure& figure = explained.bytes;
    if (!has_one_size(one)) {
      explained.largest = figure.formula;
      figure = {std::nullopt, figure.recorded, figure.shapes, figure.max_recorded, {}, {}, {}};
    } else if (std::ranges::all_of(counts, [](Size count) { return count == 1; })) {
      // There may be too few shapes to find a formula, but they show that the count is always 1.
      explained.count.formula = Expression(Size{1});
    }
    return explained;
  }

  // Returns whether all allocations of a shape have the same bytes. Those of a loop whose rounds differ do
  // not.
  [[nodiscard]] bool has_one_size(const MatchedAllocations& one) const {
    for (std::size_t shape = 0; shape < one.members.size(); ++shape) {
      const auto& members = one.members[shape];
      if (std::ranges::any_of(members, [&](std::size_t i) {
            return allocation(shape, i).bytes != allocation(shape, members.front()).bytes;
          }))
        return false;
    }
    return true;
  }

  // Returns the bytes of the largest allocation of a shape; 0 if it has none.
  [[nodiscard]] Size largest_bytes(const MatchedAllocations& one, std::size_t shape) const {
    Size largest = 0;
    for (const std::size_t i : one.members[shape]) largest = std::max(largest, allocation(shape, i).bytes);
    return largest;
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
    std::vector<std::optional<Expression>> counts;
    counts.reserve(groups_.size());
    for (const ExplainedAllocation& one : result.allocations) counts.push_back(one.count.formula);
    auto [moments, unknown_beyond] =
        find_peak_moments({fitters_, sequences_, groups_, counts, bytes_, with_names_});
    result.moments = std::move(moments);
    result.unknown_beyond = std::move(unknown_beyond);
    if (!result.unknown_beyond.empty() && !result.is_partial())
      result.notes.push_back(fmt::format(
          "at other shapes the peak may be at a moment with {}, which has no formula: the formula "
          "of the peak is too low there; record larger shapes",
          fmt::join(result.unknown_beyond, ", ")));
  }

  void add_notes(Explanation& result) const {
    if (shapes_.count() < kMinExplainedShapes) {
      result.notes.push_back(
          fmt::format("{} recorded: at least {} are needed for formulas; add {}",
                      shapes_.count() == 1 ? "1 shape" : fmt::format("{} shapes", shapes_.count()),
                      kMinExplainedShapes, shapes_to_add(shapes_, kMinExplainedShapes - shapes_.count())));
      return;
    }
    for (const ExplainedAllocation& one : result.allocations) {
      if (one.count.part)
        result.notes.push_back(fmt::format(
            "{}: {} of them when {}; otherwise their number has no formula", one.name,
            to_text(one.count.part->formula, ExpressionStyle::display), one.count.part->condition));
      if (one.bytes.part)
        result.notes.push_back(fmt::format("{}: {} when {}; otherwise no formula", one.name,
                                           to_text(one.bytes.part->formula, ExpressionStyle::display),
                                           one.bytes.part->condition));
      if (!one.bytes.rival) continue;
      result.notes.push_back(fmt::format("{}: {} gives the same bytes at all shapes; record {} to decide",
                                         one.name, to_text(*one.bytes.rival),
                                         shape_text(one.bytes.deciding_shape, 0)));
    }
    add_multiples(result);
    std::vector<std::string> constant;
    std::vector<std::string> others;
    for (const Shapes::Axis& axis : shapes_.axes) {
      if (!is_constant(axis.values)) continue;
      constant.push_back(fmt::format("{}={}", axis.name, axis.values.front()));
      others.push_back(fmt::format("{}={}", axis.name, axis.values.front() + 1));
    }
    if (!constant.empty())
      result.notes.push_back(
          fmt::format("{} at every shape: formulas do not show the effect of {}; add shapes with {}",
                      fmt::join(constant, ", "), constant.size() == 1 ? "this axis" : "these axes",
                      fmt::join(others, ", ")));
  }

  // Adds a note if all values of an axis have a common divisor, because then rounding to a multiple does not
  // show.
  void add_multiples(Explanation& result) const {
    std::vector<std::string> multiples;
    std::vector<std::string> others;
    for (const Shapes::Axis& axis : shapes_.axes) {
      Size divisor = 0;
      for (const Size value : axis.values) divisor = std::gcd(divisor, value);
      if (divisor < 2 || is_constant(axis.values)) continue;
      multiples.push_back(divisor == 2 ? fmt::format("{} is even", axis.name)
                                       : fmt::format("{} is a multiple of {}", axis.name, divisor));
      others.push_back(fmt::format("{}={}", axis.name, std::ranges::max(axis.values) + 1));
    }
    if (!multiples.empty())
      result.notes.push_back(
          fmt::format("{} at every shape: lengths that the program rounds to such multiples look unrounded; "
                      "add shapes with {}",
                      fmt::join(multiples, ", "), fmt::join(others, ", ")));
  }

  const Shapes& shapes_;
  const AllocationSequences& sequences_;
  Fitters& fitters_;
  std::vector<MatchedAllocations> groups_;
  std::map<std::string, std::string> sites_;  // for each `where`
  Shapes with_names_;  // the shapes, with allocations without a formula as further axes
  std::vector<std::optional<Expression>> bytes_;  // one per group: its formula or name
};

}  // namespace

std::optional<Expression> ExplainedAllocation::all_bytes() const {
  if (!count.formula || !bytes.formula) return std::nullopt;
  return Expression::multiply({*count.formula, *bytes.formula});
}

bool Explanation::has_enough_shapes() const {
  return fitted + held_out >= kMinExplainedShapes;
}

bool Explanation::is_partial() const {
  return std::ranges::any_of(moments, &PeakMoment::is_partial);
}

std::optional<Expression> Explanation::peak() const {
  return is_partial() ? std::nullopt : maximum(moments);
}

std::optional<Expression> Explanation::partial_peak() const {
  return is_partial() ? maximum(moments) : std::nullopt;
}

Explanation explain(Fitters& fitters, const AllocationSequences& sequences) {
  if (fitters.shapes().count() != sequences.size())
    throw UsageError(fmt::format("{} sequences for {} shapes: give one sequence per shape", sequences.size(),
                                 fitters.shapes().count()));
  if (sequences.empty()) throw UsageError("no shape was recorded: nothing can be explained");
  return Explainer(fitters, sequences).explain();
}

Explanation explain(const Shapes& shapes, const AllocationSequences& sequences) {
  Fitters fitters(shapes);
  return explain(fitters, sequences);
}

}  // namespace peakmark
