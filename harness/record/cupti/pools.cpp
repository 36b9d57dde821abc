#include "record/cupti/pools.hpp"

namespace peakmark {

void Pools::created(std::uint64_t pool, Info info) {
  const std::scoped_lock lock(mutex_);
  destroyed_.erase(pool);
  pools_[pool].info = info;
}

void Pools::seen(std::uint64_t pool, Info info) {
  const std::scoped_lock lock(mutex_);
  if (!destroyed_.contains(pool)) pools_.try_emplace(pool, Entry{.info = info});
}

std::optional<Pools::Info> Pools::find(std::uint64_t pool) {
  const std::scoped_lock lock(mutex_);
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return std::nullopt;
  return found->second.info;
}

void Pools::use(std::uint64_t pool, const std::function<void()>& query) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = pools_.find(pool);
    if (found == pools_.end() || found->second.ending) return;
    ++found->second.uses;
  }
  const Use ends_with_this_scope{*this, pool};
  query();
}

void Pools::end_use(std::uint64_t pool) {
  const std::scoped_lock lock(mutex_);
  // The entry stays while it is in use.
  if (--pools_.find(pool)->second.uses == 0) unused_.notify_all();
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
