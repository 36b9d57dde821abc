#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/size.hpp"
#include "record/ledger/device_use.hpp"
#include "record/ledger/ledger.hpp"
#include "record/ledger/replay.hpp"
#include "record/ledger/timeline.hpp"

// The first pass of fold().
namespace peakmark::folding {

inline constexpr std::size_t kNone = SIZE_MAX;

/// A maximum, and the event after which it was first reached.
struct Highest {
  Size value = 0;
  std::size_t event = kNone;

  void see(Size now, std::size_t i) {
    if (now <= value) return;
    value = now;
    event = i;
  }
};

/// The allocations of events, and their peaks.
class FoldLives : public Lives {
 public:
  /// `events`: at least one. `is_counted`: selects the memory; null: all of it.
  explicit FoldLives(std::span<const Event> events, const MemoryFilter& is_counted = nullptr);

  /// For an allocation, a release or a name: the index of the allocation in `all`.
  std::vector<std::size_t> of_event;
  /// For an allocation at an address that was live: the index in `all` of the replaced allocation.
  std::unordered_map<std::size_t, std::size_t> replaced;
  std::size_t largest_pool = kNone;

  /// Adds the marks of these events to `marks`, which has one entry for each event.
  void mark(std::vector<std::uint8_t>& marks) const;

  void allocated(std::size_t i, const LiveMemory& live);
  void released(std::size_t i, const LiveEntry& entry, const LiveMemory& live);
  void named(std::size_t i, const LiveEntry& entry);
  void changed(std::size_t i, const LiveMemory& live);
  void other(std::size_t i, const LiveMemory& live);

 private:
  void see(std::size_t i, MemoryKind kind, const LiveMemory& live);
  void end_phase(Size live);

  std::span<const Event> events_;
  Highest peak_of_phase_;
  std::vector<std::size_t> peaks_of_phases_;
  std::array<Highest, kKindSlots> peak_of_kind_;
  std::vector<ThinnedValues> points_;  // by slot of the kind; the last is for all kinds
};

}  // namespace peakmark::folding
