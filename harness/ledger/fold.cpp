#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "base/size.hpp"
#include "ledger/fold_lives.hpp"
#include "ledger/ledger.hpp"

namespace peakmark {
namespace {

using namespace folding;

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
      case EventType::device:
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
                              event.address & ~kRepeatsMask, refused_by(event)},
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
  std::map<std::tuple<std::int64_t, MemoryKind, std::int32_t, std::uint64_t, std::uint64_t, RefusedBy>,
           std::size_t>
      refused_;
};

}  // namespace

std::vector<Event> fold(std::span<const Event> events) {
  if (events.empty()) return {};
  return Folding(events).run();
}

}  // namespace peakmark
