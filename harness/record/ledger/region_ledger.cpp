#include "record/ledger/region_ledger.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace peakmark {

void RegionLedger::Tally::add(const Allocation& allocation) {
  live += allocation.bytes;
  if (live <= peak) return;
  peak = live;
  last_at_peak = allocation.serial;
  released_since_peak.clear();
}

void RegionLedger::Tally::remove(const Allocation& allocation) {
  if (allocation.serial < first_serial) return;
  live -= allocation.bytes;
  if (allocation.serial <= last_at_peak) released_since_peak.push_back(allocation);
}

RegionLedger::RegionLedger() : empty_(intern("")) {}

std::size_t RegionLedger::add_source(std::int64_t process) {
  sources_.emplace_back().process = process;
  return sources_.size() - 1;
}

void RegionLedger::replay(std::size_t source, std::span<const Event> events, std::size_t index) {
  const Event& event = events[index];
  switch (event.type) {
    case EventType::allocation:
      return allocate(source, event);
    case EventType::release:
      return release(source, event.address, event.time_ns);
    case EventType::failed_allocation:
      return refuse(source, event);
    case EventType::name:
      if (const LiveEntry* const entry = sources_[source].live.find(event.address))
        allocations_[entry->index].name = intern(text_of(events, index));
      return;
    case EventType::phase:
      phases_[sources_[source].process] = intern(text_of(events, index));
      return;
    case EventType::stack:
      sources_[source].stacks[event.address] = intern(text_of(events, index));
      return;
    case EventType::note:
      notes_.push_back(text_of(events, index));
      return;
    case EventType::pool:
      is_pool_unknown_ = is_pool_unknown_ || event.amounts.bytes == kUnknownPoolBytes;
      for (auto& [number, region] : open_)
        region.pool_reserved_peak =
            std::max<Size>(region.pool_reserved_peak.value_or(0), event.amounts.bytes);
      return;
    case EventType::live:
    case EventType::folded:
    case EventType::work:
    case EventType::text:
    case EventType::device:
      return;
  }
}

void RegionLedger::allocate(std::size_t source, const Event& event) {
  release(source, event.address, event.time_ns);  // its release was lost
  const Allocation allocation{++last_serial_,      event.amounts.bytes, event.kind, source,
                              event.amounts.stack, phase_of(source),    empty_};
  std::size_t place = allocations_.size();
  if (free_places_.empty()) {
    allocations_.push_back(allocation);
  } else {
    place = free_places_.back();
    free_places_.pop_back();
    allocations_[place] = allocation;
  }
  sources_[source].live.insert({event.address, place, allocation.bytes, event.kind});
  const bool counts = counts_into_peak(event.kind);
  if (counts) live_ += allocation.bytes;
  for (auto& [number, region] : open_) {
    count_kind(region, allocation, allocation.bytes);
    if (!counts) continue;
    for (Tally* const tally : {&region.own, &region.everything, &region.since}) tally->add(allocation);
    if (region.has_timeline) region.timeline.push_back({event.time_ns, region.own.live});
    // Memory whose release was refused is live again, and was counted when it was allocated.
    if (event.amounts.result != 0) continue;
    ++region.allocations;
    region.total_bytes += allocation.bytes;
  }
}

void RegionLedger::refuse(std::size_t source, const Event& event) {
  const auto count = static_cast<std::int64_t>(1 + (event.address & kRepeatsMask));
  // A request of 2^63 bytes or more does not fit the event.
  const Size bytes = event.amounts.bytes < 0 ? std::numeric_limits<Size>::max() : event.amounts.bytes;
  const Request request{bytes,  event.kind,         event.amounts.result, phase_of(source),
                        source, event.amounts.stack};
  for (auto& [number, region] : open_) {
    region.failed_allocations += count;
    const auto [found, is_new] = region.place_in_refused.try_emplace(request, region.refused.size());
    if (is_new) region.refused.emplace_back(request, 0);
    region.refused[found->second].second += count;
  }
}

void RegionLedger::release(std::size_t source, std::uint64_t address, std::int64_t time_ns) {
  const LiveEntry* const entry = sources_[source].live.find(address);
  if (entry == nullptr) return;
  const std::size_t place = entry->index;
  const Allocation& allocation = allocations_[place];
  const bool counts = counts_into_peak(allocation.kind);
  if (counts) live_ -= allocation.bytes;
  for (auto& [number, region] : open_) {
    count_kind(region, allocation, -allocation.bytes);
    if (!counts) continue;
    for (Tally* const tally : {&region.own, &region.everything, &region.since}) tally->remove(allocation);
    if (region.has_timeline) region.timeline.push_back({time_ns, region.own.live});
  }
  allocations_[place] = {};
  free_places_.push_back(place);
  sources_[source].live.erase(address);
}

void RegionLedger::count_kind(Region& region, const Allocation& allocation, Size bytes) {
  if (allocation.serial < region.own.first_serial) return;
  TallyOfKind& kind = region.by_kind[slot_of(allocation.kind)];
  kind.is_seen = true;
  kind.live += bytes;
  kind.peak = std::max(kind.peak, kind.live);
}

void RegionLedger::end_source(std::size_t source, std::int64_t time_ns) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> live;  // serial, address
  sources_[source].live.for_each(
      [&](const LiveEntry& entry) { live.emplace_back(allocations_[entry.index].serial, entry.address); });
  std::ranges::sort(live);
  for (const auto& [serial, address] : live) release(source, address, time_ns);
}

std::uint64_t RegionLedger::open(std::optional<std::uint64_t> since, bool has_timeline) {
  const std::uint64_t number = first_serials_.size();
  const std::uint64_t first = last_serial_ + 1;
  first_serials_.push_back(first);
  Region& region = open_[number];
  region.own.first_serial = first;
  region.everything.live = region.everything.peak = region.live_at_start = live_;
  region.everything.last_at_peak = last_serial_;
  region.since.first_serial = since ? first_serials_.at(*since) : first;
  if (since) {
    for (const Allocation& one : live_between(region.since.first_serial, last_serial_))
      region.since.live += one.bytes;
  }
  region.since.peak = region.since.live;
  region.since.last_at_peak = last_serial_;
  region.first_note = notes_.size();
  region.has_timeline = has_timeline;
  return number;
}

void RegionLedger::close(std::uint64_t region) {
  open_.erase(region);
}

RegionFigures RegionLedger::figures(std::uint64_t number) const {
  const Region& region = open_.at(number);
  return {.peak_bytes = region.own.peak,
          .left_bytes = region.own.live,
          .live_at_start_bytes = region.live_at_start,
          .live_peak_bytes = region.everything.peak,
          .live_bytes = live_,
          .peak_since_bytes = region.since.peak,
          .total_bytes = region.total_bytes,
          .allocations = region.allocations,
          .failed_allocations = region.failed_allocations};
}

RegionLists RegionLedger::lists(std::uint64_t number) const {
  const Region& region = open_.at(number);
  RegionLists lists;
  lists.at_peak = at_peak(region.own);
  lists.live_at_peak = at_peak(region.everything);
  lists.since_at_peak = at_peak(region.since);
  lists.left = group(live_between(region.own.first_serial, last_serial_));
  for (const auto& [request, count] : region.refused) {
    const auto& [bytes, kind, error, phase, source, stack] = request;
    lists.refused.push_back(
        {bytes, kind, error, *phase, *stack_of(source, stack), sources_[source].process != 0, count});
  }
  std::ranges::stable_sort(lists.refused, std::ranges::greater(), &RegionRefusal::bytes);
  for (std::size_t slot = 0; slot < kKindSlots; ++slot) {
    if (region.by_kind[slot].is_seen)
      lists.peaks_by_kind.emplace_back(static_cast<MemoryKind>(slot), region.by_kind[slot].peak);
  }
  if (!is_pool_unknown_) lists.pool_reserved_peak_bytes = region.pool_reserved_peak;
  lists.notes.assign(notes_.begin() + static_cast<std::ptrdiff_t>(region.first_note), notes_.end());
  lists.timeline = region.timeline;
  return lists;
}

std::vector<RegionLedger::Allocation> RegionLedger::live_between(std::uint64_t first_serial,
                                                                 std::uint64_t last_serial) const {
  std::vector<Allocation> found;
  for (const Allocation& one : allocations_) {
    if (one.serial != 0 && one.serial >= first_serial && one.serial <= last_serial &&
        counts_into_peak(one.kind))
      found.push_back(one);
  }
  return found;
}

std::vector<RegionGroup> RegionLedger::at_peak(const Tally& tally) const {
  std::vector<Allocation> allocations = live_between(tally.first_serial, tally.last_at_peak);
  allocations.insert(allocations.end(), tally.released_since_peak.begin(), tally.released_since_peak.end());
  return group(std::move(allocations));
}

std::vector<RegionGroup> RegionLedger::group(std::vector<Allocation> allocations) const {
  std::ranges::sort(allocations, {}, &Allocation::serial);
  std::vector<RegionGroup> groups;
  std::map<std::tuple<Text, MemoryKind, Text, Text, bool>, std::size_t> places;
  for (const Allocation& one : allocations) {
    const Text stack = stack_of(one.source, one.stack);
    const bool is_child = sources_[one.source].process != 0;
    const auto [found, is_new] =
        places.try_emplace({one.name, one.kind, one.phase, stack, is_child}, groups.size());
    if (is_new) groups.push_back({*one.name, one.kind, *one.phase, *stack, is_child, 0, 0, 0});
    RegionGroup& group = groups[found->second];
    group.bytes += one.bytes;
    group.largest_bytes = std::max(group.largest_bytes, one.bytes);
    ++group.count;
  }
  std::ranges::stable_sort(groups, std::ranges::greater(), &RegionGroup::bytes);
  return groups;
}

RegionLedger::Text RegionLedger::intern(std::string text) {
  return &*texts_.insert(std::move(text)).first;
}

RegionLedger::Text RegionLedger::phase_of(std::size_t source) const {
  const auto found = phases_.find(sources_[source].process);
  return found == phases_.end() ? empty_ : found->second;
}

RegionLedger::Text RegionLedger::stack_of(std::size_t source, std::uint64_t stack) const {
  const auto& stacks = sources_[source].stacks;
  const auto found = stacks.find(stack);
  return found == stacks.end() ? empty_ : found->second;
}

}  // namespace peakmark
