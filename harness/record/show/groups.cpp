#include "record/show/groups.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace peakmark {

std::vector<AllocationGroup> group(const std::vector<Allocation>& allocations) {
  std::vector<AllocationGroup> groups;
  std::map<std::tuple<std::string, std::string, MemoryKind>, std::size_t> place;
  for (const Allocation& allocation : allocations) {
    const auto [found, inserted] =
        place.try_emplace({allocation.name, allocation.phase, allocation.kind}, groups.size());
    if (inserted) groups.push_back({allocation.name, allocation.phase, allocation.kind, 0, 0, 0});
    AllocationGroup& group = groups[found->second];
    group.bytes += allocation.bytes;
    group.largest_bytes = std::max(group.largest_bytes, allocation.bytes);
    ++group.count;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const AllocationGroup& a, const AllocationGroup& b) { return a.bytes > b.bytes; });
  return groups;
}

std::optional<Size> bytes_at_peak(const LedgerSummary& summary, MemoryKind kind) {
  if (!counts_into_peak(kind)) return std::nullopt;
  Size bytes = 0;
  for (const Allocation& one : summary.at_peak) bytes += one.kind == kind ? one.bytes : 0;
  return bytes;
}

namespace {

/// The phases of one process by time. In merged events, the phases of all processes are mixed.
class OwnPhases {
 public:
  explicit OwnPhases(const RecordedProcess& process) {
    for (std::size_t i = 0; i < process.events.size(); ++i) {
      const Event& event = process.events[i];
      if (event.type == EventType::phase) begun_.emplace_back(event.time_ns, text_of(process.events, i));
    }
  }
  [[nodiscard]] std::string at(std::int64_t time_ns) const {
    const auto later =
        std::ranges::upper_bound(begun_, time_ns, {}, &std::pair<std::int64_t, std::string>::first);
    return later == begun_.begin() ? "" : std::prev(later)->second;
  }

 private:
  std::vector<std::pair<std::int64_t, std::string>> begun_;
};

}  // namespace

std::vector<ProcessGroup> group_by_process(const RecordedTree& tree,
                                           const std::vector<Allocation>& allocations) {
  std::map<std::int32_t, std::vector<Allocation>> of_process;
  std::map<const RecordedProcess*, OwnPhases> phases;
  for (const Allocation& one : allocations) {
    const RecordedProcess& process = process_of(tree, one);
    Allocation own = one;
    own.phase = phases.try_emplace(&process, process).first->second.at(one.time_ns);
    of_process[process.header.pid].push_back(std::move(own));
  }
  std::vector<ProcessGroup> groups;
  for (const auto& [pid, own] : of_process) {
    for (AllocationGroup& one : group(own)) groups.push_back({pid, std::move(one)});
  }
  std::ranges::stable_sort(
      groups, [](const ProcessGroup& a, const ProcessGroup& b) { return a.group.bytes > b.group.bytes; });
  return groups;
}

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
