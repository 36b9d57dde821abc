#include "record/recorders/cupti/live_objects.hpp"

namespace peakmark {

LiveAllocations::Shard& LiveAllocations::shard(std::uint64_t address) {
  // Device addresses are multiples of 256 or 512: their low bits would all select the same shard.
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

void Pools::created(std::uint64_t pool, Info info) {
  const std::scoped_lock lock(mutex_);
  destroyed_.erase(pool);
  pools_[pool].info = info;
}

std::optional<Pools::Info> Pools::seen(std::uint64_t pool, Info info) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = pools_.find(pool); found != pools_.end()) return found->second.info;
  if (destroyed_.contains(pool)) return std::nullopt;
  pools_[pool].info = info;
  if (info.kind == MemoryKind::pool_async && info.device < of_driver_.size()) of_driver_[info.device] = pool;
  return info;
}

std::optional<Pools::Info> Pools::find(std::uint64_t pool) {
  const std::scoped_lock lock(mutex_);
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return std::nullopt;
  return found->second.info;
}

Pools::Use::Use(Pools& pools, std::uint64_t pool) : pools_(pools), pool_(pool) {
  const std::scoped_lock lock(pools_.mutex_);
  const auto found = pools_.pools_.find(pool);
  if (found == pools_.pools_.end() || found->second.ending) return;
  ++found->second.uses;
  info_ = found->second.info;
}

Pools::Use::~Use() {
  if (!info_) return;
  const std::scoped_lock lock(pools_.mutex_);
  // The entry cannot be removed while it is in use.
  Entry& entry = pools_.pools_.find(pool_)->second;
  if (--entry.uses == 0 && entry.ending) pools_.unused_.notify_all();
}

std::optional<Pools::Info> Pools::destroyed(std::uint64_t pool) {
  std::unique_lock lock(mutex_);
  auto found = pools_.find(pool);
  if (found == pools_.end() || found->second.ending) return std::nullopt;
  found->second.ending = true;
  unused_.wait(lock, [&] { return pools_.find(pool)->second.uses == 0; });
  found = pools_.find(pool);
  const Info info = found->second.info;
  pools_.erase(found);
  destroyed_.insert(pool);
  return info;
}

void Contexts::created(std::uint32_t context) {
  const std::scoped_lock lock(mutex_);
  created_.insert(context);
  attached_.erase(context);
}

std::unordered_set<std::uint32_t> Contexts::made_by_program() {
  const std::scoped_lock lock(mutex_);
  return created_;
}

void Contexts::destroyed(std::uint32_t context) {
  const std::scoped_lock lock(mutex_);
  created_.erase(context);
  attached_.erase(context);
}

void Contexts::attached(std::uint32_t context) {
  const std::scoped_lock lock(mutex_);
  ++attached_[context];
}

bool Contexts::detached(std::uint32_t context) {
  const std::scoped_lock lock(mutex_);
  const auto found = attached_.find(context);
  if (found == attached_.end() || found->second == 0) return true;
  --found->second;
  return false;
}

std::optional<std::uint32_t> Contexts::retained(std::uint32_t device, std::uint32_t context) {
  const std::scoped_lock lock(mutex_);
  const auto [place, is_new] = primary_.try_emplace(device, context);
  if (is_new || place->second == context) return std::nullopt;
  const std::uint32_t before = place->second;
  place->second = context;
  return before;
}

void Contexts::green_created(std::uint64_t green, std::uint32_t device) {
  const std::scoped_lock lock(mutex_);
  greens_[green] = device;
}

std::optional<std::uint32_t> Contexts::green_destroyed(std::uint64_t green) {
  const std::scoped_lock lock(mutex_);
  const auto found = greens_.find(green);
  if (found == greens_.end()) return std::nullopt;
  const std::uint32_t device = found->second;
  greens_.erase(found);
  return device;
}

}  // namespace peakmark
