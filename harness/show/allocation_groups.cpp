#include "show/allocation_groups.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace peakmark {

std::vector<AllocationGroup> group(const std::vector<Allocation>& allocations) {
  std::vector<AllocationGroup> groups;
  std::map<std::tuple<std::string, std::string, MemoryKind>, std::size_t> place;
  for (const Allocation& allocation : allocations) {
    const auto [found, inserted] =
        place.try_emplace({allocation.name, allocation.phase, allocation.kind}, groups.size());
    if (inserted) groups.push_back({allocation.name, allocation.phase, allocation.kind, 0, 0});
    groups[found->second].bytes += allocation.bytes;
    ++groups[found->second].count;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const AllocationGroup& a, const AllocationGroup& b) { return a.bytes > b.bytes; });
  return groups;
}

std::vector<ProcessGroup> group_by_process(const RecordedTree& tree,
                                           const std::vector<Allocation>& allocations) {
  std::map<std::int32_t, std::vector<Allocation>> of_process;
  for (const Allocation& one : allocations) of_process[process_of(tree, one).header.pid].push_back(one);
  std::vector<ProcessGroup> groups;
  for (const auto& [pid, own] : of_process) {
    for (AllocationGroup& one : group(own)) groups.push_back({pid, std::move(one)});
  }
  std::ranges::stable_sort(
      groups, [](const ProcessGroup& a, const ProcessGroup& b) { return a.group.bytes > b.group.bytes; });
  return groups;
}

}  // namespace peakmark
