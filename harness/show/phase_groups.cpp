#include "show/phase_groups.hpp"

#include <algorithm>
#include <unordered_map>

namespace peakmark {

std::vector<PhaseGroup> group_phases(const std::vector<PhaseSummary>& phases) {
  std::vector<PhaseGroup> groups;
  std::unordered_map<std::string, std::size_t> places;
  for (const PhaseSummary& phase : phases) {
    const bool nothing = phase.name.empty() && phase.peak_bytes == 0 && phase.failed_allocations == 0;
    if (nothing && phases.size() > 1) continue;
    const auto [place, is_new] = places.try_emplace(phase.name, groups.size());
    if (is_new) groups.push_back({phase.name});
    PhaseGroup& group = groups[place->second];
    ++group.times;
    group.peak_bytes = std::max(group.peak_bytes, phase.peak_bytes);
    group.live_at_end_bytes = phase.live_at_end_bytes;
    group.allocations += phase.allocations;
    group.failed_allocations += phase.failed_allocations;
  }
  return groups;
}

}  // namespace peakmark
