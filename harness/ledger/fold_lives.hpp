#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/size.hpp"
#include "ledger/address_map.hpp"
#include "ledger/ledger.hpp"
#include "ledger/timeline.hpp"

// The first pass of fold().
namespace peakmark::folding {

inline constexpr std::size_t kNone = SIZE_MAX;

/// Live bytes of all that counts into the peak, and of each kind.
struct LiveBytes {
  Size all = 0;
  std::array<Size, kKindSlots> of_kind{};

  void add(MemoryKind kind, Size bytes) {
    if (counts_into_peak(kind)) all += bytes;
    of_kind[slot_of(kind)] += bytes;
  }
};

struct Life {
  std::size_t from = 0;
  std::size_t to = kNone;    ///< its release, or the allocation that took its address; kNone: still live
  std::size_t name = kNone;  ///< the last event that named it
};

/// A highest value, and the event after which it was first reached.
struct Highest {
  Size value = 0;
  std::size_t event = kNone;

  void see(Size now, std::size_t i) {
    if (now <= value) return;
    value = now;
    event = i;
  }
};

/// The allocations of events from their beginning to their end, and their peaks.
class Lives {
 public:
  /// `events`: at least one. `is_counted`: which memory there is; all of it without.
  explicit Lives(std::span<const Event> events, std::function<bool(const Event&)> is_counted = nullptr);

  std::vector<Life> lives;
  /// Of an allocation, a release and a name: the place in `lives`.
  std::vector<std::size_t> of_event;
  /// Of an allocation whose address was live: the place of that one.
  std::unordered_map<std::size_t, std::size_t> replaced;
  std::size_t largest_pool = kNone;

  /// Adds the marks of these events to `marks`, which has one for each.
  void mark(std::vector<std::uint8_t>& marks) const;

 private:
  void step(std::size_t i);
  std::size_t end_of_life(std::uint64_t address, std::size_t i);
  void see(std::size_t i, MemoryKind kind);
  void end_phase();

  std::span<const Event> events_;
  std::function<bool(const Event&)> is_counted_;
  AddressMap map_;  // `index` is a place in `lives`
  LiveBytes live_;
  Highest peak_;  // of allocations alone, as in a ledger
  Highest peak_of_phase_;
  std::vector<std::size_t> peaks_of_phases_;
  std::array<Highest, kKindSlots> peak_of_kind_;
  std::vector<ThinnedValues> points_;  // by slot of the kind; then of all
};

}  // namespace peakmark::folding
