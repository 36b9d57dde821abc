#include "ledger/fold_lives.hpp"

#include <utility>

namespace peakmark::folding {
namespace {

constexpr std::size_t kLookAhead = 16;
constexpr std::size_t kSpans = 1000;  // of time, of each timeline

}  // namespace

Lives::Lives(std::span<const Event> events, std::function<bool(const Event&)> is_counted)
    : of_event(events.size(), kNone), events_(events), is_counted_(std::move(is_counted)) {
  const std::int64_t from_ns = events.front().time_ns;
  const std::int64_t to_ns = events.back().time_ns;
  points_.assign(kKindSlots + 1, ThinnedValues(from_ns, to_ns, kSpans));
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i + kLookAhead < events.size()) map_.prefetch(events[i + kLookAhead].address);
    step(i);
  }
  end_phase();
}

void Lives::mark(std::vector<std::uint8_t>& marks) const {
  for (const Life& life : lives) {
    const bool is_at_peak = counts_into_peak(events_[life.from].kind) && peak_.event != kNone &&
                            life.from <= peak_.event && life.to > peak_.event;
    if (life.to == kNone || is_at_peak) marks[life.from] |= kMarkKept;
  }
  for (const ThinnedValues& one : points_) {
    for (const ThinnedValues::Value& value : one.values()) marks[value.number] |= kMarkExact;
  }
  for (const std::size_t event : peaks_of_phases_) marks[event] |= kMarkExact;
  for (const Highest& peak : peak_of_kind_) {
    if (peak.event != kNone) marks[peak.event] |= kMarkExact;
  }
  if (peak_.event != kNone) marks[peak_.event] |= kMarkExact;
}

void Lives::step(std::size_t i) {
  const Event& event = events_[i];
  switch (event.type) {
    case EventType::allocation: {
      if (const std::size_t before = end_of_life(event.address, i); before != kNone) replaced[i] = before;
      if (is_counted_ && !is_counted_(event)) break;
      of_event[i] = lives.size();
      map_.insert({event.address, lives.size(), event.amounts.bytes, event.kind});
      lives.push_back({i});
      live_.add(event.kind, event.amounts.bytes);
      if (counts_into_peak(event.kind)) peak_.see(live_.all, i);
      see(i, event.kind);
      break;
    }
    case EventType::release:
      of_event[i] = end_of_life(event.address, i);
      if (of_event[i] != kNone) see(i, events_[lives[of_event[i]].from].kind);
      break;
    case EventType::live:
      if (is_counted_ && !is_counted_(event)) break;
      live_.add(event.kind, event.amounts.bytes);
      see(i, event.kind);
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

void Lives::see(std::size_t i, MemoryKind kind) {
  const std::int64_t time_ns = events_[i].time_ns;
  if (counts_into_peak(kind)) {
    peak_of_phase_.see(live_.all, i);
    points_[kKindSlots].add({time_ns, live_.all}, i);
  }
  const std::size_t slot = slot_of(kind);
  peak_of_kind_[slot].see(live_.of_kind[slot], i);
  points_[slot].add({time_ns, live_.of_kind[slot]}, i);
}

void Lives::end_phase() {
  if (peak_of_phase_.event != kNone) peaks_of_phases_.push_back(peak_of_phase_.event);
  peak_of_phase_ = {live_.all, kNone};
}

}  // namespace peakmark::folding
