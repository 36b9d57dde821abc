#include "analyse/explain/derive/allocation_groups.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "record/ledger/allocation_sequence.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kMaxLiveEntries = std::size_t{1} << 20;

// Splits off the last allocation of each shape: for a loop whose last round is smaller.
void add_rounds(std::vector<MatchedAllocations>& groups, const MatchedAllocations& all) {
  MatchedAllocations rounds{all, {}};
  MatchedAllocations last = rounds;
  for (const auto& members : all.members) {
    const auto end = members.empty() ? members.end() : members.end() - 1;
    rounds.members.emplace_back(members.begin(), end);
    last.members.emplace_back(end, members.end());
  }
  groups.push_back(std::move(rounds));
  groups.push_back(std::move(last));
}

void add_by_order(std::vector<MatchedAllocations>& groups, const MatchedAllocations& all) {
  for (std::size_t ordinal = 0; ordinal < all.members.front().size(); ++ordinal) {
    MatchedAllocations one{all, {}};
    one.members.reserve(all.members.size());
    for (const auto& members : all.members) one.members.push_back({members[ordinal]});
    groups.push_back(std::move(one));
  }
}

}  // namespace

std::vector<MatchedAllocations> group_allocations(const AllocationSequences& sequences) {
  std::map<PhasedKey, std::size_t> index;
  std::vector<MatchedAllocations> by_key;
  for (std::size_t shape = 0; shape < sequences.size(); ++shape) {
    const AllocationSequence& sequence = sequences[shape];
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      const SequencedAllocation& one = sequence[i];
      const auto [found, is_new] = index.try_emplace(phased_key(one), by_key.size());
      if (is_new) {
        by_key.push_back({{one.name, one.phase, one.where, one.process}, {}});
        by_key.back().members.resize(sequences.size());
      }
      by_key[found->second].members[shape].push_back(i);
    }
  }
  std::vector<MatchedAllocations> groups;
  for (MatchedAllocations& all : by_key) {
    const std::size_t count = all.members.front().size();
    bool is_fixed = true;
    bool is_uniform = true;
    for (std::size_t shape = 0; shape < sequences.size(); ++shape) {
      const auto& members = all.members[shape];
      const AllocationSequence& sequence = sequences[shape];
      is_fixed = is_fixed && members.size() == count;
      is_uniform = is_uniform && std::ranges::all_of(members, [&](std::size_t i) {
                     return sequence[i].bytes == sequence[members.front()].bytes;
                   });
    }
    if (is_uniform) {
      groups.push_back(std::move(all));
    } else if (is_fixed) {
      add_by_order(groups, all);
    } else {
      add_rounds(groups, all);
    }
  }
  return groups;
}

std::vector<std::size_t> groups_of(const AllocationSequence& sequence,
                                   const std::vector<MatchedAllocations>& groups, std::size_t shape) {
  std::vector<std::size_t> group_of(sequence.size());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const std::size_t i : groups[group].members[shape]) group_of[i] = group;
  }
  return group_of;
}

std::vector<std::size_t> LiveMoment::pattern() const {
  std::vector<std::size_t> result;
  result.reserve(live.size());
  for (const auto& [group, count] : live) result.push_back(group);
  return result;
}

Size LiveMoment::count(std::size_t group) const {
  const auto found = std::ranges::lower_bound(live, group, {}, &std::pair<std::size_t, Size>::first);
  return found == live.end() || found->first != group ? 0 : found->second;
}

std::vector<LiveMoment> high_points(const AllocationSequence& sequence,
                                    const std::vector<MatchedAllocations>& groups, std::size_t shape) {
  const std::vector<std::size_t> group_of = groups_of(sequence, groups, shape);
  std::vector<LiveMoment> found;
  std::size_t entries = 0;
  std::map<std::size_t, Size> live;  // number of live allocations of each group
  Size bytes = 0;
  const auto add = [&] {
    found.push_back({{live.begin(), live.end()}, bytes});
    entries += live.size();
    if (entries <= kMaxLiveEntries) return;
    std::ranges::stable_sort(found, std::greater{}, &LiveMoment::bytes);
    found.resize(found.size() / 2 + 1);
    entries = 0;
    for (const LiveMoment& moment : found) entries += moment.live.size();
  };
  bool is_rising = false;
  for (const auto& [step, i, is_release] : sequence_steps(sequence)) {
    if (is_release && is_rising) add();
    is_rising = !is_release;
    const auto group = live.try_emplace(group_of[i], 0).first;
    group->second += is_release ? -1 : 1;
    if (group->second == 0) live.erase(group);
    bytes = checked_add(bytes, is_release ? -sequence[i].bytes : sequence[i].bytes);
  }
  if (is_rising) add();
  return found;
}

}  // namespace peakmark
