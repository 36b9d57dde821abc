#include "show/allocation_groups.hpp"

#include <algorithm>
#include <map>
#include <tuple>

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

}  // namespace peakmark
