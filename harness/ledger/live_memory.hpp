#pragma once

#include <cstdint>
#include <optional>

#include "base/size.hpp"
#include "ledger/address_map.hpp"
#include "profile/event.hpp"

namespace peakmark {

/// The allocations that are live while events are replayed, and the bytes of those that count into the peak.
class LiveMemory {
 public:
  /// Adds an allocation, whose entry gets `index`. Returns what was live at its address: its release was
  /// lost.
  std::optional<LiveEntry> allocate(const Event& event, std::uint64_t index) {
    const std::optional<LiveEntry> lost = release(event.address);
    map_.insert({event.address, index, event.amounts.bytes, event.kind});
    if (counts_into_peak(event.kind)) bytes_ += event.amounts.bytes;
    return lost;
  }

  /// Removes and returns what is live at the address; null if nothing is.
  std::optional<LiveEntry> release(std::uint64_t address) {
    const LiveEntry* const found = map_.find(address);
    if (found == nullptr) return std::nullopt;
    const LiveEntry entry = *found;
    if (counts_into_peak(entry.kind)) bytes_ -= entry.bytes;
    map_.erase(address);
    return entry;
  }

  /// As AddressMap.
  [[nodiscard]] const LiveEntry* find(std::uint64_t address) const { return map_.find(address); }
  void prefetch(std::uint64_t address) const { map_.prefetch(address); }
  template <typename Visit>
  void for_each(Visit visit) const {
    map_.for_each(visit);
  }

  [[nodiscard]] Size bytes() const { return bytes_; }

 private:
  AddressMap map_;
  Size bytes_ = 0;
};

}  // namespace peakmark
