#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "record/profile/event.hpp"

namespace peakmark {

/// The allocation that is live at an address.
struct LiveEntry {
  std::uint64_t address = 0;
  std::uint64_t index = 0;  ///< index of the allocation's event
  std::int64_t bytes = 0;
  MemoryKind kind = MemoryKind::none;
  std::uint32_t number = 0;  ///< number of the allocation in a replay, from 0
};

/// Maps addresses to live allocations. Uses open addressing with linear probing and back-shift deletion,
/// because cache misses limit the speed of a replay: a node-based map has three of them per event, this map
/// has one, which `prefetch` hides. Address 0 is not a key, because no successful allocation has it.
class AddressMap {
 public:
  AddressMap() : slots_(kMinSlots) {}

  /// Returns the entry at `address`, or null. Valid until the next insertion or erasure.
  [[nodiscard]] const LiveEntry* find(std::uint64_t address) const {
    for (std::size_t i = home(address);; i = next(i)) {
      if (slots_[i].address == 0) return nullptr;  // also if `address` is 0
      if (slots_[i].address == address) return &slots_[i];
    }
  }

  /// Inserts an entry, and replaces one at the same address.
  void insert(const LiveEntry& entry) {
    if (4 * (size_ + 1) > 3 * slots_.size()) grow();
    std::size_t i = home(entry.address);
    while (slots_[i].address != 0 && slots_[i].address != entry.address) i = next(i);
    size_ += slots_[i].address == 0;
    slots_[i] = entry;
  }

  /// Loads the slot that a later `find` of this address reads into the cache.
  void prefetch(std::uint64_t address) const { __builtin_prefetch(&slots_[home(address)], 1); }

  void erase(std::uint64_t address) {
    std::size_t hole = home(address);
    while (slots_[hole].address != address) {
      if (slots_[hole].address == 0) return;
      hole = next(hole);
    }
    --size_;
    // Entries after the hole that are found through it move up, so no tombstones are needed.
    for (std::size_t i = next(hole); slots_[i].address != 0; i = next(i)) {
      const std::size_t wanted = home(slots_[i].address);
      const bool reachable_without_hole =
          hole < i ? (hole < wanted && wanted <= i) : (hole < wanted || wanted <= i);
      if (reachable_without_hole) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = {};
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Calls `visit(entry)` for each entry, in no particular order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const LiveEntry& slot : slots_) {
      if (slot.address != 0) visit(slot);
    }
  }

 private:
  static constexpr std::size_t kMinSlots = 64;  // a power of two, as every capacity

  // Addresses differ in their middle bits: a multiplication by 2^64 / golden ratio moves those to the top.
  [[nodiscard]] std::size_t home(std::uint64_t address) const {
    return static_cast<std::size_t>((address * 0x9E3779B97F4A7C15U) >> shift_);
  }
  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & (slots_.size() - 1); }

  void grow() {
    std::vector<LiveEntry> old(slots_.size() * 2);
    old.swap(slots_);
    --shift_;
    size_ = 0;
    for (const LiveEntry& slot : old) {
      if (slot.address != 0) insert(slot);
    }
  }

  std::vector<LiveEntry> slots_;
  std::size_t size_ = 0;
  unsigned shift_ = 64 - 6;
};

}  // namespace peakmark
