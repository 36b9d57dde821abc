#include "analyse/explain/derive/live_allocations.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "record/ledger/sequence_steps.hpp"

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

}  // namespace peakmark
