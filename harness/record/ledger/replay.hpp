#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/size.hpp"
#include "record/ledger/address_map.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

/// The allocations that are live while events are replayed. Bytes include those that `record --compact` only
/// counts (EventType::live).
class LiveMemory {
 public:
  /// Adds an allocation; nothing may be live at its address.
  void allocate(const Event& event, std::uint64_t index) {
    map_.insert({event.address, index, event.amounts.bytes, event.kind, allocations_++});
    add(event.kind, event.amounts.bytes);
  }

  /// Removes and returns what is live at the address; null if nothing is.
  std::optional<LiveEntry> release(std::uint64_t address) {
    const LiveEntry* const found = map_.find(address);
    if (found == nullptr) return std::nullopt;
    const LiveEntry entry = *found;
    add(entry.kind, -entry.bytes);
    map_.erase(address);
    return entry;
  }

  void add(MemoryKind kind, Size bytes) {
    if (counts_into_peak(kind)) bytes_ += bytes;
    of_kind_[slot_of(kind)] += bytes;
  }

  /// As AddressMap::prefetch.
  [[nodiscard]] const LiveEntry* find(std::uint64_t address) const { return map_.find(address); }
  void prefetch(std::uint64_t address) const { map_.prefetch(address); }
  template <typename Visit>
  void for_each(Visit visit) const {
    map_.for_each(visit);
  }

  /// Returns the bytes of all kinds that count into the peak.
  [[nodiscard]] Size bytes() const { return bytes_; }
  [[nodiscard]] Size bytes(MemoryKind kind) const { return of_kind_[slot_of(kind)]; }

 private:
  AddressMap map_;
  Size bytes_ = 0;
  std::array<Size, kKindSlots> of_kind_{};
  std::uint32_t allocations_ = 0;
};

/// The functions that replay() calls, with the index of the event and the memory that is live after it. An
/// observer derives from it and defines those that it needs.
struct ReplayObserver {
  void allocated(std::size_t /*event*/, const LiveMemory& /*live*/) {}
  /// The event is the release; or it is an allocation at the same address, if the release was lost. Then
  /// allocated() follows.
  void released(std::size_t /*event*/, const LiveEntry& /*entry*/, const LiveMemory& /*live*/) {}
  void named(std::size_t /*event*/, const LiveEntry& /*entry*/) {}
  /// The bytes of memory that is only counted have changed (EventType::live).
  void changed(std::size_t /*event*/, const LiveMemory& /*live*/) {}
  /// Any other event, or a release or a name of an address at which nothing is live.
  void other(std::size_t /*event*/, const LiveMemory& /*live*/) {}
};

/// Replays events in their order, beginning with no live memory, and returns the memory that is live at the
/// end. If an address is allocated again without a release in between, the release was lost. Only allocations
/// for which `is_counted` returns true are replayed. An event costs one lookup in the map, whose cache line
/// was prefetched some events before.
template <typename Observer, typename IsCounted>
LiveMemory replay(std::span<const Event> events, Observer& observer, const IsCounted& is_counted) {
  constexpr std::size_t kLookAhead = 16;
  LiveMemory live;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i + kLookAhead < events.size()) live.prefetch(events[i + kLookAhead].address);
    const Event& event = events[i];
    switch (event.type) {
      case EventType::allocation:
        if (const auto lost = live.release(event.address)) observer.released(i, *lost, live);
        if (!is_counted(event)) break;
        live.allocate(event, i);
        observer.allocated(i, live);
        break;
      case EventType::release:
        if (const auto entry = live.release(event.address)) {
          observer.released(i, *entry, live);
        } else {
          observer.other(i, live);
        }
        break;
      case EventType::name:
        if (const LiveEntry* const entry = live.find(event.address)) {
          observer.named(i, *entry);
        } else {
          observer.other(i, live);
        }
        break;
      case EventType::live:
        if (!is_counted(event)) break;
        live.add(event.kind, event.amounts.bytes);
        observer.changed(i, live);
        break;
      default:
        observer.other(i, live);
        break;
    }
  }
  return live;
}

template <typename Observer>
LiveMemory replay(std::span<const Event> events, Observer& observer) {
  return replay(events, observer, [](const Event&) { return true; });
}

/// An allocation, by indices of events; SIZE_MAX: none.
struct Life {
  std::size_t from = 0;
  std::size_t to = SIZE_MAX;    ///< its release, or the allocation that took its address
  std::size_t name = SIZE_MAX;  ///< the last event that named it
};

/// The allocations in the order in which they were made, and the first moment of their peak.
class Lives : public ReplayObserver {
 public:
  void allocated(std::size_t i, const LiveMemory& live) {
    all.push_back({i});
    if (live.bytes() <= peak_bytes_) return;
    peak_bytes_ = live.bytes();
    peak = i;
  }
  void released(std::size_t i, const LiveEntry& entry, const LiveMemory& /*live*/) {
    all[entry.number].to = i;
  }
  void named(std::size_t i, const LiveEntry& entry) { all[entry.number].name = i; }

  [[nodiscard]] bool is_at_peak(const Life& life, std::span<const Event> events) const {
    return counts_into_peak(events[life.from].kind) && peak != SIZE_MAX && life.from <= peak &&
           life.to > peak;
  }

  std::vector<Life> all;
  std::size_t peak = SIZE_MAX;  ///< the allocation that reached it

 private:
  Size peak_bytes_ = 0;
};

}  // namespace peakmark
