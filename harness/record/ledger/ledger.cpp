#include "record/ledger/ledger.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "record/ledger/replay.hpp"

namespace peakmark {
namespace {

class Summary : public ReplayObserver {
 public:
  explicit Summary(std::span<const Event> events) : events_(events) { begin_phase(0, "", 0); }

  void allocated(std::size_t i, const LiveMemory& live) {
    const Event& event = events_[i];
    const Size bytes = event.amounts.bytes;
    // Memory whose release was refused is live again, and was counted when it was allocated.
    const bool is_new = event.amounts.result == 0;
    if (!is_new) ++summary_.refused_releases;
    KindSummary& kind = kinds_[slot_of(event.kind)];
    kind.allocations += is_new ? 1 : 0;
    kind.total_bytes += is_new ? bytes : 0;
    see_peaks(event, live);
    if (!counts_into_peak(event.kind)) return;
    summary_.allocations += is_new ? 1 : 0;
    summary_.phases.back().allocations += is_new ? 1 : 0;
    summary_.total_bytes += is_new ? bytes : 0;
    if (live.bytes() > summary_.peak_bytes) {
      summary_.peak_bytes = live.bytes();
      summary_.peak_time_ns = event.time_ns;
      events_to_peak_ = i + 1;
      released_since_peak_.clear();
    }
  }

  void released(std::size_t /*event*/, const LiveEntry& entry, const LiveMemory& /*live*/) {
    if (counts_into_peak(entry.kind) && entry.index < events_to_peak_)
      released_since_peak_.push_back(entry.index);
  }

  /// An allocation can be named at any time while it is live. The name belongs to the allocation that has the
  /// address at that time.
  void named(std::size_t i, const LiveEntry& entry) { name_of_allocation_[entry.index] = i; }

  /// Cannot exceed the overall peak, because folding keeps all allocations of the peak as events.
  void changed(std::size_t i, const LiveMemory& live) { see_peaks(events_[i], live); }

  void other(std::size_t i, const LiveMemory& live) {
    const Event& event = events_[i];
    switch (event.type) {
      case EventType::release:
        ++summary_.unmatched_releases;
        break;
      case EventType::failed_allocation:
        refuse(event);
        break;
      case EventType::phase:
        summary_.phases.back().live_at_end_bytes = live.bytes();
        begin_phase(i, text_of(events_, i), live.bytes());
        break;
      case EventType::pool:
        summary_.pool_seen = !is_pool_unknown_ && event.amounts.bytes != kUnknownPoolBytes;
        is_pool_unknown_ = !summary_.pool_seen;
        summary_.pool_reserved_peak_bytes =
            std::max(summary_.pool_reserved_peak_bytes, static_cast<Size>(event.amounts.bytes));
        break;
      case EventType::note:
        summary_.notes.push_back(text_of(events_, i));
        break;
      case EventType::stack:
        summary_.stacks[event.address] = text_of(events_, i);
        break;
      case EventType::folded:
        add_folded(event);
        break;
      case EventType::allocation:
      case EventType::name:
      case EventType::live:
      case EventType::work:
      case EventType::text:
      case EventType::device:
        break;
    }
  }

  LedgerSummary finish(const LiveMemory& live) {
    summary_.phases.back().live_at_end_bytes = live.bytes();
    summary_.live_at_end_bytes = live.bytes();
    for (std::size_t slot = 0; slot < kKindSlots; ++slot) {
      if (kinds_[slot].allocations == 0) continue;
      const auto kind = static_cast<MemoryKind>(slot);
      kinds_[slot].live_at_end_bytes = live.bytes(kind);
      summary_.by_kind[kind] = kinds_[slot];
    }
    std::ranges::stable_sort(summary_.refused, std::ranges::greater(), &RefusedAllocation::bytes);
    summary_.leaked = describe(live_indices(live, events_.size()));
    // Live at the peak were the allocations from before it that are still live, and those that were released
    // after it.
    std::vector<std::uint64_t> at_peak = live_indices(live, events_to_peak_);
    at_peak.insert(at_peak.end(), released_since_peak_.begin(), released_since_peak_.end());
    summary_.at_peak = describe(std::move(at_peak));
    return std::move(summary_);
  }

 private:
  void see_peaks(const Event& event, const LiveMemory& live) {
    KindSummary& kind = kinds_[slot_of(event.kind)];
    kind.peak_bytes = std::max(kind.peak_bytes, live.bytes(event.kind));
    if (!counts_into_peak(event.kind)) return;
    PhaseSummary& phase = summary_.phases.back();
    phase.peak_bytes = std::max(phase.peak_bytes, live.bytes());
  }

  void add_folded(const Event& event) {
    const std::int64_t count = event.amounts.auxiliary;
    switch (static_cast<FoldedCount>(event.amounts.result)) {
      case FoldedCount::allocations:
        kinds_[slot_of(event.kind)].allocations += count;
        kinds_[slot_of(event.kind)].total_bytes += event.amounts.bytes;
        if (!counts_into_peak(event.kind)) return;
        summary_.allocations += count;
        summary_.phases.back().allocations += count;
        summary_.total_bytes += event.amounts.bytes;
        return;
      case FoldedCount::unmatched_releases:
        summary_.unmatched_releases += count;
        return;
      case FoldedCount::refused_releases:
        summary_.refused_releases += count;
        return;
    }
  }

  void begin_phase(std::size_t first_event, std::string name, Size live) {
    phase_starts_.push_back(first_event);
    summary_.phases.push_back(
        {std::move(name), live, live, live, 0, 0, events_.empty() ? 0 : events_[first_event].time_ns});
  }

  void refuse(const Event& event) {
    const auto count = static_cast<std::int64_t>(1 + (event.address & kRepeatsMask));
    summary_.failed_allocations += count;
    summary_.phases.back().failed_allocations += count;
    const std::string& phase = summary_.phases.back().name;
    const Event::Amounts& amounts = event.amounts;
    // A request of 2^63 bytes or more does not fit the event.
    const Size bytes = amounts.bytes < 0 ? std::numeric_limits<Size>::max() : amounts.bytes;
    const RefusedBy limit = refused_by(event);
    const auto [place, is_new] = refused_.try_emplace(
        {bytes, event.kind, amounts.result, phase, amounts.stack, limit}, summary_.refused.size());
    if (is_new) {
      summary_.refused.push_back({bytes, event.kind, amounts.result, phase, amounts.stack, 0, {}, limit});
    }
    summary_.refused[place->second].count += count;
  }

  /// Live allocations that count into the peak and were made by the first `end` events.
  static std::vector<std::uint64_t> live_indices(const LiveMemory& live, std::size_t end) {
    std::vector<std::uint64_t> indices;
    live.for_each([&](const LiveEntry& entry) {
      if (counts_into_peak(entry.kind) && entry.index < end) indices.push_back(entry.index);
    });
    return indices;
  }

  [[nodiscard]] std::vector<Allocation> describe(std::vector<std::uint64_t> indices) const {
    // Largest first, then oldest first.
    std::sort(indices.begin(), indices.end(), [this](std::uint64_t a, std::uint64_t b) {
      const std::int64_t bytes_a = events_[a].amounts.bytes;
      const std::int64_t bytes_b = events_[b].amounts.bytes;
      return bytes_a != bytes_b ? bytes_a > bytes_b : a < b;
    });
    std::vector<Allocation> allocations;
    allocations.reserve(indices.size());
    for (const std::uint64_t index : indices) {
      const Event& event = events_[index];
      const auto name = name_of_allocation_.find(index);
      const auto phase = std::upper_bound(phase_starts_.begin(), phase_starts_.end(), index) - 1;
      allocations.push_back(
          {name == name_of_allocation_.end() ? std::string() : text_of(events_, name->second),
           summary_.phases[static_cast<std::size_t>(phase - phase_starts_.begin())].name, event.kind,
           static_cast<Size>(event.amounts.bytes), event.address, event.time_ns, event.amounts.stack});
    }
    return allocations;
  }

  std::span<const Event> events_;
  LedgerSummary summary_;
  bool is_pool_unknown_ = false;
  std::array<KindSummary, kKindSlots> kinds_{};
  std::size_t events_to_peak_ = 0;
  std::vector<std::uint64_t> released_since_peak_;  ///< allocations from before the peak, by index
  std::unordered_map<std::uint64_t, std::size_t> name_of_allocation_;  ///< allocation's event → name's event
  /// Place in summary_.refused, by bytes, kind, error, phase, stack and whether the budget refused it.
  std::map<std::tuple<std::int64_t, MemoryKind, std::int32_t, std::string, std::uint64_t, RefusedBy>,
           std::size_t>
      refused_;
  std::vector<std::size_t> phase_starts_;  ///< first event of each phase
};

}  // namespace

std::string invalid_note(const LedgerSummary& summary) {
  for (const std::string& note : summary.notes) {
    if (note.starts_with(kInvalidNote)) return note;
  }
  return "";
}

LedgerSummary summarise(std::span<const Event> events) {
  Summary summary(events);
  const LiveMemory live = replay(events, summary);
  return summary.finish(live);
}

}  // namespace peakmark
