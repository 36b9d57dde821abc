#include "recorders/cupti/live_allocations.hpp"

namespace peakmark {

LiveAllocations::Shard& LiveAllocations::shard(std::uint64_t address) {
  // Device addresses are multiples of 256 or 512: their low bits would all choose one shard.
  return shards_[((address >> 9) ^ (address >> 21) ^ (address >> 4)) % kShards];
}

void LiveAllocations::add(const CudaAllocation& allocation) {
  Shard& place = shard(allocation.address);
  const std::scoped_lock lock(place.mutex);
  place.live[allocation.address] = allocation;
}

std::optional<CudaAllocation> LiveAllocations::take(std::uint64_t address) {
  Shard& place = shard(address);
  const std::scoped_lock lock(place.mutex);
  const auto found = place.live.find(address);
  if (found == place.live.end()) return std::nullopt;
  const CudaAllocation allocation = found->second;
  place.live.erase(found);
  return allocation;
}

std::vector<CudaAllocation> LiveAllocations::take_where(
    const std::function<bool(const CudaAllocation&)>& wanted) {
  std::vector<CudaAllocation> taken;
  for (Shard& place : shards_) {
    const std::scoped_lock lock(place.mutex);
    std::erase_if(place.live, [&](const auto& entry) {
      if (!wanted(entry.second)) return false;
      taken.push_back(entry.second);
      return true;
    });
  }
  return taken;
}

}  // namespace peakmark
