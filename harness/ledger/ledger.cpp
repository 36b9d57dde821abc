#include "ledger/ledger.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "ledger/address_map.hpp"

namespace peakmark {
namespace {

/// One pass. An event costs one lookup in the map, whose cache line was prefetched some events before.
class Replay {
 public:
  explicit Replay(std::span<const Event> events) : events_(events) { begin_phase(0, ""); }

  LedgerSummary run() {
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (i + kLookAhead < events_.size()) map_.prefetch(events_[i + kLookAhead].address);
      step(i);
    }
    summary_.phases.back().live_at_end_bytes = live_;
    summary_.live_at_end_bytes = live_;
    for (std::size_t kind = 0; kind < kKindSlots; ++kind) {
      if (kinds_[kind].allocations != 0) summary_.by_kind[static_cast<MemoryKind>(kind)] = kinds_[kind];
    }
    std::ranges::stable_sort(summary_.refused, std::ranges::greater(), &RefusedAllocation::bytes);
    summary_.leaked = describe(live_indices(events_.size()));
    summary_.at_peak = describe(indices_at_peak());
    return std::move(summary_);
  }

 private:
  static constexpr std::size_t kLookAhead = 16;

  void step(std::size_t i) {
    const Event& event = events_[i];
    switch (event.type) {
      case EventType::allocation:
        allocate(i, event);
        break;
      case EventType::release:
        if (!release(event.address)) ++summary_.unmatched_releases;
        break;
      case EventType::failed_allocation:
        refuse(event);
        break;
      case EventType::name:
        // A name may come any time while the allocation lives; it belongs to the one that has the address
        // then.
        if (const LiveEntry* entry = map_.find(event.address)) name_of_allocation_[entry->index] = i;
        break;
      case EventType::phase:
        summary_.phases.back().live_at_end_bytes = live_;
        begin_phase(i, text_of(events_, i));
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
      case EventType::live:
        change_live(event);
        break;
      case EventType::folded:
        add_folded(event);
        break;
      case EventType::work:
      case EventType::text:
      case EventType::device:
        break;
    }
  }

  /// It never exceeds the peak, whose allocations are there one by one.
  void change_live(const Event& event) {
    const Size bytes = event.amounts.bytes;
    KindSummary& kind = kinds_[slot_of(event.kind)];
    kind.live_at_end_bytes += bytes;
    kind.peak_bytes = std::max(kind.peak_bytes, kind.live_at_end_bytes);
    if (!counts_into_peak(event.kind)) return;
    live_ += bytes;
    PhaseSummary& phase = summary_.phases.back();
    phase.peak_bytes = std::max(phase.peak_bytes, live_);
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

  void begin_phase(std::size_t first_event, std::string name) {
    phase_starts_.push_back(first_event);
    summary_.phases.push_back(
        {std::move(name), live_, live_, live_, 0, 0, events_.empty() ? 0 : events_[first_event].time_ns});
  }

  void allocate(std::size_t i, const Event& event) {
    release(event.address);  // its release was lost
    const Size bytes = event.amounts.bytes;
    // Memory whose release was refused is live again, and was counted when it was allocated.
    const bool is_new = event.amounts.result == 0;
    if (!is_new) ++summary_.refused_releases;
    map_.insert({event.address, i, bytes, event.kind});
    KindSummary& kind = kinds_[slot_of(event.kind)];
    kind.allocations += is_new ? 1 : 0;
    kind.total_bytes += is_new ? bytes : 0;
    kind.live_at_end_bytes += bytes;
    kind.peak_bytes = std::max(kind.peak_bytes, kind.live_at_end_bytes);
    if (!counts_into_peak(event.kind)) return;
    PhaseSummary& phase = summary_.phases.back();
    summary_.allocations += is_new ? 1 : 0;
    phase.allocations += is_new ? 1 : 0;
    summary_.total_bytes += is_new ? bytes : 0;
    live_ += bytes;
    phase.peak_bytes = std::max(phase.peak_bytes, live_);
    if (live_ > summary_.peak_bytes) {
      summary_.peak_bytes = live_;
      summary_.peak_time_ns = event.time_ns;
      events_to_peak_ = i + 1;
      released_since_peak_.clear();
    }
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

  bool release(std::uint64_t address) {
    const LiveEntry* entry = map_.find(address);
    if (entry == nullptr) return false;
    kinds_[slot_of(entry->kind)].live_at_end_bytes -= entry->bytes;
    if (counts_into_peak(entry->kind)) {
      live_ -= entry->bytes;
      if (entry->index < events_to_peak_) released_since_peak_.push_back(entry->index);
    }
    map_.erase(address);
    return true;
  }

  /// Allocations live now that count into the peak and were made by the first `end` events.
  [[nodiscard]] std::vector<std::uint64_t> live_indices(std::size_t end) const {
    std::vector<std::uint64_t> indices;
    map_.for_each([&](const LiveEntry& entry) {
      if (counts_into_peak(entry.kind) && entry.index < end) indices.push_back(entry.index);
    });
    return indices;
  }

  /// What was live at the peak: what has lived since before it, and what was released since.
  [[nodiscard]] std::vector<std::uint64_t> indices_at_peak() const {
    std::vector<std::uint64_t> indices = live_indices(events_to_peak_);
    indices.insert(indices.end(), released_since_peak_.begin(), released_since_peak_.end());
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
  AddressMap map_;
  std::array<KindSummary, kKindSlots> kinds_{};
  Size live_ = 0;
  std::size_t events_to_peak_ = 0;
  std::vector<std::uint64_t> released_since_peak_;  ///< allocations of before the peak, by index
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
  return Replay(events).run();
}

}  // namespace peakmark
