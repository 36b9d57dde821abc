#include "recorders/cupti/contexts.hpp"

namespace peakmark {

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
