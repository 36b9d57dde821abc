#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/size.hpp"
#include "record/ledger/device_use.hpp"
#include "record/ledger/ledger.hpp"
#include "record/ledger/replay.hpp"
#include "record/ledger/timeline.hpp"

namespace peakmark {
namespace {

// The first pass of fold().

constexpr std::size_t kNone = SIZE_MAX;

// A maximum, and the event after which it was first reached.
struct Highest {
  Size value = 0;
  std::size_t event = kNone;

  void see(Size now, std::size_t i) {
    if (now <= value) return;
    value = now;
    event = i;
  }
};

// The allocations of events, and their peaks.
class FoldLives : public Lives {
 public:
  // `events`: at least one. `is_counted`: selects the memory; null: all of it.
  explicit FoldLives(std::span<const Event> events, const MemoryFilter& is_counted = nullptr);

  // For an allocation, a release or a name: the index of the allocation in `all`.
  std::vector<std::size_t> of_event;
  // For an allocation at an address that was live: the index in `all` of the replaced allocation.
  std::unordered_map<std::size_t, std::size_t> replaced;
  std::size_t largest_pool = kNone;

  // Adds the marks of these events to `marks`, which has one entry for each event.
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

constexpr std::size_t kSpans = 1000;  // of time, of each timeline

FoldLives::FoldLives(std::span<const Event> events, const MemoryFilter& is_counted)
    : of_event(events.size(), kNone), events_(events) {
  const std::int64_t from_ns = events.front().time_ns;
  const std::int64_t to_ns = events.back().time_ns;
  points_.assign(kKindSlots + 1, ThinnedValues(from_ns, to_ns, kSpans));
  end_phase((is_counted ? replay(events, *this, is_counted) : replay(events, *this)).bytes());
}

void FoldLives::mark(std::vector<std::uint8_t>& marks) const {
  for (const Life& life : all) {
    if (life.to == kNone || is_at_peak(life, events_)) marks[life.from] |= kMarkKept;
  }
  for (const ThinnedValues& one : points_) {
    for (const ThinnedValues::Value& value : one.values()) marks[value.number] |= kMarkExact;
  }
  for (const std::size_t event : peaks_of_phases_) marks[event] |= kMarkExact;
  for (const Highest& peak : peak_of_kind_) {
    if (peak.event != kNone) marks[peak.event] |= kMarkExact;
  }
  if (peak != kNone) marks[peak] |= kMarkExact;
}

void FoldLives::allocated(std::size_t i, const LiveMemory& live) {
  of_event[i] = all.size();
  Lives::allocated(i, live);
  see(i, events_[i].kind, live);
}

void FoldLives::released(std::size_t i, const LiveEntry& entry, const LiveMemory& live) {
  Lives::released(i, entry, live);
  if (events_[i].type == EventType::allocation) {
    replaced[i] = entry.number;
  } else {
    of_event[i] = entry.number;
    see(i, entry.kind, live);
  }
}

void FoldLives::named(std::size_t i, const LiveEntry& entry) {
  of_event[i] = entry.number;
  Lives::named(i, entry);
}

void FoldLives::changed(std::size_t i, const LiveMemory& live) {
  see(i, events_[i].kind, live);
}

void FoldLives::other(std::size_t i, const LiveMemory& live) {
  const Event& event = events_[i];
  if (event.type == EventType::phase) end_phase(live.bytes());
  if (event.type != EventType::pool) return;
  // One unknown size makes the largest size unknown.
  if (largest_pool == kNone || event.amounts.bytes == kUnknownPoolBytes ||
      (events_[largest_pool].amounts.bytes != kUnknownPoolBytes &&
       event.amounts.bytes > events_[largest_pool].amounts.bytes))
    largest_pool = i;
}

void FoldLives::see(std::size_t i, MemoryKind kind, const LiveMemory& live) {
  const std::int64_t time_ns = events_[i].time_ns;
  if (counts_into_peak(kind)) {
    peak_of_phase_.see(live.bytes(), i);
    points_[kKindSlots].add({time_ns, live.bytes()}, i);
  }
  const std::size_t slot = slot_of(kind);
  peak_of_kind_[slot].see(live.bytes(kind), i);
  points_[slot].add({time_ns, live.bytes(kind)}, i);
}

void FoldLives::end_phase(Size live) {
  if (peak_of_phase_.event != kNone) peaks_of_phases_.push_back(peak_of_phase_.event);
  peak_of_phase_ = {live, kNone};
}

/// Sums over the allocations of one kind on one device that are only counted.
struct Counted {
  MemoryKind kind = MemoryKind::none;
  std::uint32_t device = 0;
  Size live = 0;      // of all events
  Size replayed = 0;  // live by a replay of the events written so far; never more than was really live
  /// The written event that subtracts the releases since `replayed` was last exact; kNone if there is none.
  std::size_t taken_back = kNone;
  std::int64_t allocations = 0;  // in this phase
  Size bytes = 0;                // of these
};

/// The second pass.
class Folding {
 public:
  Folding(std::span<const Event> events, const std::vector<std::uint8_t>& marks)
      : events_(events), marks_(marks), lives_(events) {}

  std::vector<Event> run() {
    // The first event is the beginning of the time before the first phase.
    put(total_at(events_.front(), EventType::live));
    for (std::size_t i = 0; i < events_.size(); ++i) step(i);
    end_phase(events_.back());
    put_count(FoldedCount::unmatched_releases, unmatched_releases_);
    put_count(FoldedCount::refused_releases, refused_releases_);
    put(total_at(events_.back(), EventType::live));
    for (std::size_t i = 0; i < folded_.size(); ++i) folded_[i].commit = i + 1;
    return std::move(folded_);
  }

 private:
  [[nodiscard]] bool is_kept(const Life& life) const { return (marks_[life.from] & kMarkKept) != 0; }

  void step(std::size_t i) {
    const Event& event = events_[i];
    latest_ns_ = std::max(latest_ns_, event.time_ns);
    count(i);
    if (event.type == EventType::phase) end_phase(event);
    if ((marks_[i] & kMarkExact) != 0) make_exact(event);
    keep(i);
    if ((marks_[i] & kMarkEndOfPhase) != 0) end_phase(event);
  }

  /// Updates the sums by an event that is not kept.
  void count(std::size_t i) {
    const Event& event = events_[i];
    switch (event.type) {
      case EventType::allocation: {
        if (const auto before = lives_.replaced.find(i); before != lives_.replaced.end())
          release(before->second, event);
        if (is_kept(lives_.all[lives_.of_event[i]])) return;
        Counted& counted = counted_as(event);
        counted.live += event.amounts.bytes;
        if (event.amounts.result != 0) {
          ++refused_releases_;  // it is live again, and was counted when it was allocated
        } else {
          ++counted.allocations;
          counted.bytes += event.amounts.bytes;
        }
        return;
      }
      case EventType::release:
        if (lives_.of_event[i] == kNone) {
          ++unmatched_releases_;
        } else {
          release(lives_.of_event[i], event);
        }
        return;
      case EventType::live:
        change_live(event, event.amounts.bytes, event);
        return;
      case EventType::folded:
        add_folded(event);
        return;
      default:
        return;
    }
  }

  /// Writes the events that are kept, except releases.
  void keep(std::size_t i) {
    const Event& event = events_[i];
    switch (event.type) {
      case EventType::allocation:
        if (is_kept(lives_.all[lives_.of_event[i]])) put(event);
        break;
      case EventType::failed_allocation:
        refuse(event);
        break;
      case EventType::name:
        if (lives_.of_event[i] != kNone) {
          const Life& life = lives_.all[lives_.of_event[i]];
          if (is_kept(life) && life.name == i) put_text(i);
        }
        break;
      case EventType::phase:
      case EventType::note:
      case EventType::stack:
      case EventType::device:
        put_text(i);
        break;
      case EventType::pool:
        if (i == lives_.largest_pool) put(event);
        break;
      case EventType::release:
      case EventType::live:
      case EventType::folded:
      case EventType::text:
      case EventType::work:
        break;
    }
  }

  /// `event` is the release, or, if that was lost, the next allocation at the same address.
  void release(std::size_t place, const Event& event) {
    const Life& life = lives_.all[place];
    const Event& allocation = events_[life.from];
    if (!is_kept(life)) return change_live(allocation, -allocation.amounts.bytes, event);
    Event released;
    released.type = EventType::release;
    released.time_ns = event.time_ns;
    released.thread = event.thread;
    released.address = event.address;
    put(released);
  }

  Counted& counted_as(const Event& memory) {
    const auto is_same = [&](const Counted& one) {
      return one.kind == memory.kind && one.device == memory.amounts.device;
    };
    // A program has few combinations of kind and device, so a linear search is fast.
    const auto found = std::ranges::find_if(counted_, is_same);
    if (found != counted_.end()) return *found;
    return counted_.emplace_back(Counted{memory.kind, memory.amounts.device});
  }

  void change_live(const Event& memory, Size bytes, const Event& at) {
    Counted& counted = counted_as(memory);
    counted.live += bytes;
    if (counted.live >= counted.replayed) return;
    if (counted.taken_back == kNone) {
      put(total_of(counted, at, EventType::live));
      counted.taken_back = folded_.size() - 1;
    }
    folded_[counted.taken_back].amounts.bytes -= counted.replayed - counted.live;
    counted.replayed = counted.live;
  }

  void make_exact(const Event& at) {
    for (Counted& counted : counted_) {
      counted.taken_back = kNone;
      if (counted.replayed == counted.live) continue;
      Event& event = put(total_of(counted, at, EventType::live));
      event.amounts.bytes = counted.live - counted.replayed;
      counted.replayed = counted.live;
    }
  }

  void refuse(const Event& event) {
    const Event::Amounts& amounts = event.amounts;
    const auto [place, is_new] =
        refused_.try_emplace({amounts.bytes, event.kind, amounts.result, amounts.stack,
                              event.address & ~kRepeatsMask, refused_by(event)},
                             0);
    if (is_new) {
      put(event);
      place->second = folded_.size() - 1;
    } else {
      folded_[place->second].address += 1 + (event.address & kRepeatsMask);
    }
  }

  void add_folded(const Event& event) {
    const std::int64_t count = event.amounts.auxiliary;
    switch (static_cast<FoldedCount>(event.amounts.result)) {
      case FoldedCount::allocations: {
        Counted& counted = counted_as(event);
        counted.allocations += count;
        counted.bytes += event.amounts.bytes;
        return;
      }
      case FoldedCount::unmatched_releases:
        unmatched_releases_ += count;
        return;
      case FoldedCount::refused_releases:
        refused_releases_ += count;
        return;
    }
  }

  /// Writes the head of a text and its continuations.
  void put_text(std::size_t i) {
    do put(events_[i++]);
    while (i < events_.size() && events_[i].type == EventType::text &&
           events_[i].commit == events_[i - 1].commit + 1);
  }

  /// merge_by_time() places an event after all earlier events of its process, even if their times are later,
  /// because the clocks of two threads may differ. If such an earlier event is omitted, an empty event keeps
  /// its time, so that the merged order stays the same.
  Event& put(const Event& event) {
    if (event.time_ns < latest_ns_ && written_ns_ < latest_ns_ && event.type != EventType::text) {
      Event time = total_at(event, EventType::live);
      time.time_ns = latest_ns_;
      folded_.push_back(time);
    }
    written_ns_ = std::max({written_ns_, event.time_ns, latest_ns_});
    return folded_.emplace_back(event);
  }

  static Event total_at(const Event& at, EventType type) {
    Event event;
    event.type = type;
    event.time_ns = at.time_ns;
    event.thread = at.thread;
    return event;
  }

  static Event total_of(const Counted& counted, const Event& at, EventType type) {
    Event event = total_at(at, type);
    event.kind = counted.kind;
    event.amounts.device = counted.device;
    return event;
  }

  void put_count(FoldedCount what, std::int64_t count) {
    if (count == 0) return;
    Event event = total_at(events_.back(), EventType::folded);
    event.amounts.auxiliary = count;
    event.amounts.result = static_cast<std::int32_t>(what);
    put(event);
  }

  void end_phase(const Event& at) {
    make_exact(at);
    for (Counted& counted : counted_) {
      if (counted.allocations == 0) continue;
      Event& event = put(total_of(counted, at, EventType::folded));
      event.amounts.auxiliary = std::exchange(counted.allocations, 0);
      event.amounts.bytes = std::exchange(counted.bytes, 0);
      event.amounts.result = static_cast<std::int32_t>(FoldedCount::allocations);
    }
    refused_.clear();
  }

  std::span<const Event> events_;
  const std::vector<std::uint8_t>& marks_;
  const FoldLives lives_;
  std::vector<Event> folded_;
  std::vector<Counted> counted_;
  std::int64_t latest_ns_ = INT64_MIN;   // of the events so far
  std::int64_t written_ns_ = INT64_MIN;  // that folded_ holds
  std::int64_t unmatched_releases_ = 0;
  std::int64_t refused_releases_ = 0;
  /// Index in folded_ of the requests refused in this phase, by bytes, kind, error, stack, process, and what
  /// refused them.
  std::map<std::tuple<std::int64_t, MemoryKind, std::int32_t, std::uint64_t, std::uint64_t, RefusedBy>,
           std::size_t>
      refused_;
};

}  // namespace

std::vector<std::uint8_t> fold_marks(std::span<const Event> events) {
  std::vector<std::uint8_t> marks(events.size(), 0);
  if (events.empty()) return marks;
  FoldLives(events).mark(marks);
  for (const MemoryFilter& is_on_device : memory_by_device(events)) {
    std::vector<std::uint8_t> on_device(events.size(), 0);
    FoldLives(events, is_on_device).mark(on_device);
    for (std::size_t i = 0; i < marks.size(); ++i) marks[i] |= on_device[i];
  }
  return marks;
}

std::vector<Event> fold(std::span<const Event> events, const std::vector<std::uint8_t>& marks) {
  if (events.empty()) return {};
  return Folding(events, marks).run();
}

std::vector<Event> fold(std::span<const Event> events) {
  return fold(events, fold_marks(events));
}

}  // namespace peakmark
