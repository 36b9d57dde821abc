#include "recorders/cupti/pools.hpp"

namespace peakmark {

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
  // The entry stays while it is in use.
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

}  // namespace peakmark
