#include "record/ledger/fold_lives.hpp"

namespace peakmark::folding {
namespace {

constexpr std::size_t kSpans = 1000;  // of time, of each timeline

}  // namespace

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

}  // namespace peakmark::folding
