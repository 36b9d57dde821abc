#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/size.hpp"
#include "ledger/address_map.hpp"
#include "ledger/ledger.hpp"
#include "ledger/timeline.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kNone = SIZE_MAX;

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
  bool is_kept = false;
};

/// The first pass: which allocations are kept, and where the timeline has a point.
class Lives {
 public:
  explicit Lives(std::span<const Event> events)
      : of_event(events.size(), kNone), has_point(events.size(), 0), events_(events) {
    const std::int64_t from_ns = events.front().time_ns;
    const std::int64_t to_ns = events.back().time_ns;
    points_.assign(kKindSlots + 1, ThinnedValues(from_ns, to_ns, kSpans));
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (i + kLookAhead < events.size()) map_.prefetch(events[i + kLookAhead].address);
      step(i);
    }
    end_phase();
    for (Life& life : lives) {
      const bool is_at_peak = counts_into_peak(events[life.from].kind) && peak_.event != kNone &&
                              life.from <= peak_.event && life.to > peak_.event;
      life.is_kept = life.to == kNone || is_at_peak;
    }
    for (std::size_t slot = 0; slot <= kKindSlots; ++slot) {
      const std::uint8_t point = slot == kKindSlots ? kPointOfAll : kPointOfKind;
      for (const ThinnedValues::Value& value : points_[slot].values()) has_point[value.number] |= point;
      if (slot < kKindSlots && peak_of_kind_[slot].event != kNone)
        has_point[peak_of_kind_[slot].event] |= point;
    }
  }

  static constexpr std::uint8_t kPointOfAll = 1;
  static constexpr std::uint8_t kPointOfKind = 2;

  std::vector<Life> lives;
  /// Of an allocation, a release and a name: the place in `lives`.
  std::vector<std::size_t> of_event;
  /// Of an allocation whose address was live: the place of that one.
  std::unordered_map<std::size_t, std::size_t> replaced;
  std::vector<std::uint8_t> has_point;
  std::size_t largest_pool = kNone;

 private:
  static constexpr std::size_t kLookAhead = 16;
  static constexpr std::size_t kSpans = 1000;  // of time, of each timeline

  void step(std::size_t i) {
    const Event& event = events_[i];
    switch (event.type) {
      case EventType::allocation: {
        if (const std::size_t before = end_of_life(event.address, i); before != kNone) replaced[i] = before;
        of_event[i] = lives.size();
        map_.insert({event.address, lives.size(), event.amounts.bytes, event.kind});
        lives.push_back({i});
        live_.add(event.kind, event.amounts.bytes);
        if (counts_into_peak(event.kind)) peak_.see(live_.all, i);
        see(i, event.kind, counts_into_peak(event.kind), true);
        break;
      }
      case EventType::release:
        of_event[i] = end_of_life(event.address, i);
        if (of_event[i] != kNone) {
          const MemoryKind kind = events_[lives[of_event[i]].from].kind;
          see(i, kind, counts_into_peak(kind), true);
        }
        break;
      case EventType::live:
        if (event.amounts.result == kLiveOfKind) {
          live_.of_kind[slot_of(event.kind)] = event.amounts.bytes;
          see(i, event.kind, false, true);
        } else {
          live_.all = event.amounts.bytes;
          see(i, event.kind, true, false);
        }
        break;
      case EventType::name:
        if (const LiveEntry* const entry = map_.find(event.address)) {
          of_event[i] = entry->index;
          lives[entry->index].name = i;
        }
        break;
      case EventType::phase:
        end_phase();
        break;
      case EventType::pool:
        if (largest_pool == kNone || event.amounts.bytes > events_[largest_pool].amounts.bytes)
          largest_pool = i;
        break;
      default:
        break;
    }
  }

  std::size_t end_of_life(std::uint64_t address, std::size_t i) {
    const LiveEntry* const entry = map_.find(address);
    if (entry == nullptr) return kNone;
    const std::size_t life = entry->index;
    lives[life].to = i;
    live_.add(entry->kind, -entry->bytes);
    map_.erase(address);
    return life;
  }

  void see(std::size_t i, MemoryKind kind, bool all_changed, bool kind_changed) {
    const std::int64_t time_ns = events_[i].time_ns;
    if (all_changed) {
      peak_of_phase_.see(live_.all, i);
      points_[kKindSlots].add({time_ns, live_.all}, i);
    }
    if (kind_changed) {
      const std::size_t slot = slot_of(kind);
      peak_of_kind_[slot].see(live_.of_kind[slot], i);
      points_[slot].add({time_ns, live_.of_kind[slot]}, i);
    }
  }

  void end_phase() {
    if (peak_of_phase_.event != kNone) has_point[peak_of_phase_.event] |= kPointOfAll;
    peak_of_phase_ = {live_.all, kNone};
  }

  std::span<const Event> events_;
  AddressMap map_;  // `index` is a place in `lives`
  LiveBytes live_;
  Highest peak_;  // of allocations alone, as in a ledger
  Highest peak_of_phase_;
  std::array<Highest, kKindSlots> peak_of_kind_;
  std::vector<ThinnedValues> points_;  // by slot of the kind; then of all
};

/// The second pass.
class Folding {
 public:
  explicit Folding(std::span<const Event> events) : events_(events), lives_(events) {}

  std::vector<Event> run() {
    // The first event is the beginning of the time before the first phase.
    put_live(events_.front(), kLiveOfAll, 0);
    for (std::size_t i = 0; i < events_.size(); ++i) step(i);
    end_phase();
    end_kinds();
    put_live(events_.back(), kLiveOfAll, now_.all);
    for (std::size_t i = 0; i < folded_.size(); ++i) folded_[i].commit = i + 1;
    return std::move(folded_);
  }

 private:
  /// Of dropped allocations.
  struct Dropped {
    std::int64_t allocations = 0;
    Size bytes = 0;
  };

  void step(std::size_t i) {
    const Event& event = events_[i];
    switch (event.type) {
      case EventType::allocation:
        if (const auto before = lives_.replaced.find(i); before != lives_.replaced.end())
          release(before->second, event);
        allocate(lives_.lives[lives_.of_event[i]], event);
        put_points(i, event.kind);
        break;
      case EventType::release: {
        const std::size_t life = lives_.of_event[i];
        if (life == kNone) {
          ++unmatched_releases_;
          break;
        }
        release(life, event);
        put_points(i, events_[lives_.lives[life].from].kind);
        break;
      }
      case EventType::live:
        if (event.amounts.result == kLiveOfKind) {
          now_.of_kind[slot_of(event.kind)] = event.amounts.bytes;
        } else {
          now_.all = event.amounts.bytes;
        }
        put_points(i, event.kind);
        break;
      case EventType::folded:
        add_folded(event);
        break;
      case EventType::failed_allocation:
        refuse(event);
        break;
      case EventType::name:
        if (lives_.of_event[i] != kNone) {
          const Life& life = lives_.lives[lives_.of_event[i]];
          if (life.is_kept && life.name == i) put_text(i);
        }
        break;
      case EventType::phase:
        end_phase();
        sync_all(event);
        put_text(i);
        break;
      case EventType::note:
      case EventType::stack:
        put_text(i);
        break;
      case EventType::pool:
        if (i == lives_.largest_pool) folded_.push_back(event);
        break;
      case EventType::text:
      case EventType::work:
        break;
    }
  }

  void allocate(const Life& life, const Event& event) {
    const Size bytes = event.amounts.bytes;
    if (life.is_kept) {
      sync(event, event.kind);
      folded_.push_back(event);
      replayed_.add(event.kind, bytes);
    } else if (event.amounts.result != 0) {
      ++refused_releases_;  // it is live again, and was counted before
    } else {
      add(of_kind_[slot_of(event.kind)], 1, bytes);
      if (counts_into_peak(event.kind)) add(of_phase_, 1, bytes);
    }
    now_.add(event.kind, bytes);
  }

  /// `event` may be the allocation that took its address: then the release was lost.
  void release(std::size_t place, const Event& event) {
    const Life& life = lives_.lives[place];
    const Event& allocation = events_[life.from];
    if (life.is_kept) {
      sync(event, allocation.kind);
      Event released;
      released.type = EventType::release;
      released.time_ns = event.time_ns;
      released.thread = event.thread;
      released.address = event.address;
      folded_.push_back(released);
      replayed_.add(allocation.kind, -allocation.amounts.bytes);
    }
    now_.add(allocation.kind, -allocation.amounts.bytes);
  }

  void refuse(const Event& event) {
    const Event::Amounts& amounts = event.amounts;
    const auto [place, is_new] =
        refused_.try_emplace({amounts.bytes, event.kind, amounts.result, amounts.stack,
                              event.address & ~kRepeatsMask, is_refused_by_budget(event)},
                             folded_.size());
    if (is_new) {
      folded_.push_back(event);
    } else {
      folded_[place->second].address += 1 + (event.address & kRepeatsMask);
    }
  }

  void add_folded(const Event& event) {
    const std::int64_t count = event.amounts.auxiliary;
    switch (static_cast<FoldedCount>(event.amounts.result)) {
      case FoldedCount::of_kind:
        return add(of_kind_[slot_of(event.kind)], count, event.amounts.bytes);
      case FoldedCount::of_phase:
        return add(of_phase_, count, event.amounts.bytes);
      case FoldedCount::unmatched_releases:
        unmatched_releases_ += count;
        return;
      case FoldedCount::refused_releases:
        refused_releases_ += count;
        return;
    }
  }

  static void add(Dropped& dropped, std::int64_t allocations, Size bytes) {
    dropped.allocations += allocations;
    dropped.bytes += bytes;
  }

  /// The head of a text, and its continuations.
  void put_text(std::size_t i) {
    do folded_.push_back(events_[i++]);
    while (i < events_.size() && events_[i].type == EventType::text &&
           events_[i].commit == events_[i - 1].commit + 1);
  }

  void put_live(const Event& at, std::int32_t what, Size bytes, MemoryKind kind = MemoryKind::none) {
    Event event;
    event.type = EventType::live;
    event.time_ns = at.time_ns;
    event.thread = at.thread;
    event.kind = kind;
    event.amounts.result = what;
    event.amounts.bytes = bytes;
    folded_.push_back(event);
  }

  void sync_all(const Event& at) {
    if (replayed_.all == now_.all) return;
    put_live(at, kLiveOfAll, now_.all);
    replayed_.all = now_.all;
  }

  void sync_kind(const Event& at, std::size_t slot) {
    if (replayed_.of_kind[slot] == now_.of_kind[slot]) return;
    put_live(at, kLiveOfKind, now_.of_kind[slot], static_cast<MemoryKind>(slot));
    replayed_.of_kind[slot] = now_.of_kind[slot];
  }

  /// So that whoever replays has the right figures before the next event.
  void sync(const Event& at, MemoryKind kind) {
    sync_all(at);
    sync_kind(at, slot_of(kind));
  }

  void put_points(std::size_t i, MemoryKind kind) {
    if ((lives_.has_point[i] & Lives::kPointOfAll) != 0) sync_all(events_[i]);
    if ((lives_.has_point[i] & Lives::kPointOfKind) != 0) sync_kind(events_[i], slot_of(kind));
  }

  void put_count(FoldedCount what, std::int64_t count, Size bytes, MemoryKind kind = MemoryKind::none) {
    if (count == 0 && bytes == 0) return;
    Event event;
    event.type = EventType::folded;
    event.time_ns = folded_.back().time_ns;
    event.kind = kind;
    event.amounts.bytes = bytes;
    event.amounts.auxiliary = count;
    event.amounts.result = static_cast<std::int32_t>(what);
    folded_.push_back(event);
  }

  void end_phase() {
    put_count(FoldedCount::of_phase, of_phase_.allocations, of_phase_.bytes);
    of_phase_ = {};
    refused_.clear();
  }

  void end_kinds() {
    for (std::size_t slot = 0; slot < kKindSlots; ++slot) {
      sync_kind(events_.back(), slot);
      put_count(FoldedCount::of_kind, of_kind_[slot].allocations, of_kind_[slot].bytes,
                static_cast<MemoryKind>(slot));
    }
    put_count(FoldedCount::unmatched_releases, unmatched_releases_, 0);
    put_count(FoldedCount::refused_releases, refused_releases_, 0);
  }

  std::span<const Event> events_;
  const Lives lives_;
  std::vector<Event> folded_;
  LiveBytes now_;       // of all events
  LiveBytes replayed_;  // by a replay of folded_ so far
  Dropped of_phase_;
  std::array<Dropped, kKindSlots> of_kind_;
  std::int64_t unmatched_releases_ = 0;
  std::int64_t refused_releases_ = 0;
  /// Place in folded_ of the requests refused in this phase: bytes, kind, error, stack, process, by budget.
  std::map<std::tuple<std::int64_t, MemoryKind, std::int32_t, std::uint64_t, std::uint64_t, bool>,
           std::size_t>
      refused_;
};

}  // namespace

std::vector<Event> fold(std::span<const Event> events) {
  if (events.empty()) return {};
  return Folding(events).run();
}

}  // namespace peakmark
