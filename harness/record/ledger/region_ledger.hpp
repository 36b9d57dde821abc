#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/size.hpp"
#include "record/ledger/address_map.hpp"
#include "record/ledger/timeline.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

/// The figures of a region: from a moment of a running program to a later one. Bytes are requested bytes of
/// the kinds that count into the peak.
struct RegionFigures {
  Size peak_bytes = 0;           ///< maximum live bytes of what was allocated in the region
  Size left_bytes = 0;           ///< of that, live now
  Size live_at_start_bytes = 0;  ///< of everything
  Size live_peak_bytes = 0;      ///< maximum live bytes of everything
  Size live_bytes = 0;           ///< of everything, now
  Size peak_since_bytes = 0;     ///< maximum in the region, of allocations since the start of an earlier one
  Size total_bytes = 0;          ///< of all allocations, whether or not they were live at the same time
  std::int64_t allocations = 0;
  std::int64_t failed_allocations = 0;
  bool operator==(const RegionFigures&) const = default;
};

/// Allocations of one name, kind, phase and call stack. `is_child`: made by another process.
struct RegionGroup {
  std::string name;
  MemoryKind kind = MemoryKind::none;
  std::string phase;
  std::string stack;  ///< text of the call stack; empty if none was recorded
  bool is_child = false;
  Size bytes = 0;  ///< of all of them
  std::int64_t count = 0;
  Size largest_bytes = 0;  ///< of one
};

/// Requests of one size, kind, error, phase and call stack that the driver refused.
struct RegionRefusal {
  Size bytes = 0;  ///< of each
  MemoryKind kind = MemoryKind::none;
  std::int32_t error = 0;
  std::string phase;
  std::string stack;
  bool is_child = false;
  std::int64_t count = 0;
};

/// The allocations behind a region's figures. The largest come first, of equal ones the oldest.
struct RegionLists {
  std::vector<RegionGroup> at_peak;        ///< at the first moment of peak_bytes
  std::vector<RegionGroup> live_at_peak;   ///< at the first moment of live_peak_bytes
  std::vector<RegionGroup> since_at_peak;  ///< at the first moment of peak_since_bytes
  std::vector<RegionGroup> left;           ///< what left_bytes are
  std::vector<RegionRefusal> refused;
  /// The peak of each kind over the allocations of the region.
  std::vector<std::pair<MemoryKind, Size>> peaks_by_kind;
  std::optional<Size> pool_reserved_peak_bytes;  ///< null: there was no pool of the CUDA driver
  std::vector<std::string> notes;
  std::vector<LivePoint> timeline;  ///< live bytes of what was allocated in the region, after each change
};

/// Tracks live memory in running processes, event by event, and the open regions. Regions may nest and
/// overlap. An event costs a lookup in the map of its source, and a few additions for each open region.
/// `summarise` (ledger.hpp) is for whole profiles.
class RegionLedger {
 public:
  RegionLedger();

  /// Adds a recorder of a process; returns its number. Each recorder has its own addresses and call stacks,
  /// each process its own phases. `process` 0 is this process; every other one is a child.
  std::size_t add_source(std::int64_t process);

  /// Replays events[index]; its text may continue in the next ones. Does nothing for the continuations.
  void replay(std::size_t source, std::span<const Event> events, std::size_t index);

  /// Releases the memory of a process that has ended.
  void end_source(std::size_t source, std::int64_t time_ns);

  /// Opens a region and returns its number. `since`: an earlier region, also one that is closed, from whose
  /// start on `peak_since_bytes` counts; without it `peak_since_bytes` is `peak_bytes`.
  std::uint64_t open(std::optional<std::uint64_t> since = std::nullopt, bool has_timeline = false);
  [[nodiscard]] RegionFigures figures(std::uint64_t region) const;
  [[nodiscard]] RegionLists lists(std::uint64_t region) const;
  void close(std::uint64_t region);

  [[nodiscard]] Size live_bytes() const { return live_; }
  /// The notes of all sources, from the beginning.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  using Text = const std::string*;  // into texts_

  struct Source {
    std::int64_t process = 0;
    AddressMap live;  // `index` is a place in allocations_
    std::unordered_map<std::uint64_t, Text> stacks;
  };

  struct Allocation {
    std::uint64_t serial = 0;  ///< counts allocations from 1; 0: the place is free
    Size bytes = 0;
    MemoryKind kind = MemoryKind::none;
    std::size_t source = 0;
    std::uint64_t stack = 0;
    Text phase = nullptr;
    Text name = nullptr;
  };

  /// Live bytes of the allocations from a serial on, and what was live at the first moment of their peak.
  struct Tally {
    std::uint64_t first_serial = 0;
    Size live = 0;
    Size peak = 0;
    std::uint64_t last_at_peak = 0;  ///< serial of the allocation that made the peak
    std::vector<Allocation> released_since_peak;

    void add(const Allocation& allocation);
    void remove(const Allocation& allocation);
  };

  struct TallyOfKind {
    bool is_seen = false;
    Size live = 0;
    Size peak = 0;
  };

  /// bytes, kind, error, phase, source, call stack
  using Request = std::tuple<Size, MemoryKind, std::int32_t, Text, std::size_t, std::uint64_t>;

  struct Region {
    Tally own;
    Tally everything;
    Tally since;
    Size live_at_start = 0;
    Size total_bytes = 0;
    std::int64_t allocations = 0;
    std::int64_t failed_allocations = 0;
    std::array<TallyOfKind, kKindSlots> by_kind{};
    std::vector<std::pair<Request, std::int64_t>> refused;  ///< with their counts, in order of time
    std::map<Request, std::size_t> place_in_refused;
    std::optional<Size> pool_reserved_peak;
    std::size_t first_note = 0;
    bool has_timeline = false;
    std::vector<LivePoint> timeline;
  };

  Text intern(std::string text);
  [[nodiscard]] Text phase_of(std::size_t source) const;
  [[nodiscard]] Text stack_of(std::size_t source, std::uint64_t stack) const;
  void allocate(std::size_t source, const Event& event);
  void refuse(std::size_t source, const Event& event);
  void release(std::size_t source, std::uint64_t address, std::int64_t time_ns);
  static void count_kind(Region& region, const Allocation& allocation, Size bytes);
  /// Live allocations of [first_serial, last_serial] that count into the peak.
  [[nodiscard]] std::vector<Allocation> live_between(std::uint64_t first_serial,
                                                     std::uint64_t last_serial) const;
  [[nodiscard]] std::vector<RegionGroup> at_peak(const Tally& tally) const;
  [[nodiscard]] std::vector<RegionGroup> group(std::vector<Allocation> allocations) const;

  bool is_pool_unknown_ = false;           // a query of the driver failed: no region has a peak of pools
  std::unordered_set<std::string> texts_;  // each text once, at a constant address
  Text empty_;
  std::vector<Source> sources_;
  std::unordered_map<std::int64_t, Text> phases_;  // by process
  std::vector<Allocation> allocations_;
  std::vector<std::size_t> free_places_;
  std::uint64_t last_serial_ = 0;
  Size live_ = 0;
  std::map<std::uint64_t, Region> open_;
  std::vector<std::uint64_t> first_serials_;  // of each region that was ever opened
  std::vector<std::string> notes_;
};

}  // namespace peakmark
