#include "ledger/fold_lives.hpp"

namespace peakmark::folding {
namespace {

constexpr std::size_t kLookAhead = 16;
constexpr std::size_t kSpans = 1000;  // of time, of each timeline

}  // namespace

Lives::Lives(std::span<const Event> events)
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

void Lives::step(std::size_t i) {
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
      // An unknown one makes all unknown.
      if (largest_pool == kNone || event.amounts.bytes == kUnknownPoolBytes ||
          (events_[largest_pool].amounts.bytes != kUnknownPoolBytes &&
           event.amounts.bytes > events_[largest_pool].amounts.bytes))
        largest_pool = i;
      break;
    default:
      break;
  }
}

std::size_t Lives::end_of_life(std::uint64_t address, std::size_t i) {
  const LiveEntry* const entry = map_.find(address);
  if (entry == nullptr) return kNone;
  const std::size_t life = entry->index;
  lives[life].to = i;
  live_.add(entry->kind, -entry->bytes);
  map_.erase(address);
  return life;
}

void Lives::see(std::size_t i, MemoryKind kind, bool all_changed, bool kind_changed) {
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

void Lives::end_phase() {
  if (peak_of_phase_.event != kNone) has_point[peak_of_phase_.event] |= kPointOfAll;
  peak_of_phase_ = {live_.all, kNone};
}

}  // namespace peakmark::folding
