#include "process/live_memory.hpp"

#include <algorithm>

namespace peakmark {

void LiveMemory::replay(std::size_t recorder, const Event& event) {
  if (recorder >= maps_.size()) maps_.resize(recorder + 1);
  switch (event.type) {
    case EventType::allocation:
      return allocate(maps_[recorder], event);
    case EventType::release:
      return release(maps_[recorder], event.address);
    case EventType::failed_allocation:
      for (Stretch& stretch : stretches_) stretch.use.failed_allocations += stretch.is_open ? 1 : 0;
      return;
    default:
      return;
  }
}

void LiveMemory::allocate(AddressMap& map, const Event& event) {
  release(map, event.address);  // its release was lost
  const Size bytes = event.amounts.bytes;
  map.insert({event.address, 0, bytes, event.kind});
  if (!counts_into_peak(event.kind)) return;
  live_ += bytes;
  for (Stretch& stretch : stretches_) {
    if (!stretch.is_open) continue;
    ++stretch.use.allocations;
    stretch.use.total_bytes += bytes;
    stretch.use.peak_bytes = std::max(stretch.use.peak_bytes, live_);
  }
}

void LiveMemory::release(AddressMap& map, std::uint64_t address) {
  const LiveEntry* const entry = map.find(address);
  if (entry == nullptr) return;
  if (counts_into_peak(entry->kind)) live_ -= entry->bytes;
  map.erase(address);
}

std::size_t LiveMemory::begin() {
  const auto closed = std::find_if(stretches_.begin(), stretches_.end(),
                                   [](const Stretch& stretch) { return !stretch.is_open; });
  const auto index = static_cast<std::size_t>(closed - stretches_.begin());
  if (closed == stretches_.end()) stretches_.emplace_back();
  stretches_[index] = {true, {.peak_bytes = live_, .live_before_bytes = live_}};
  return index;
}

MemoryUse LiveMemory::end(std::size_t stretch) {
  Stretch& ended = stretches_.at(stretch);
  ended.is_open = false;
  ended.use.live_after_bytes = live_;
  return ended.use;
}

}  // namespace peakmark
