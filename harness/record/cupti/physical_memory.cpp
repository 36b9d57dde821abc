#include "record/cupti/physical_memory.hpp"

namespace peakmark {

void PhysicalMemory::created(std::uint64_t handle) {
  const std::scoped_lock lock(mutex_);
  handles_[handle] = {.references = 1, .mappings = 0};
}

void PhysicalMemory::retained(std::uint64_t handle) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = handles_.find(handle); found != handles_.end()) ++found->second.references;
}

bool PhysicalMemory::drop_if_unheld(std::uint64_t handle) {
  const auto found = handles_.find(handle);
  if (found->second.references > 0 || found->second.mappings > 0) return false;
  handles_.erase(found);
  return true;
}

bool PhysicalMemory::released(std::uint64_t handle) {
  const std::scoped_lock lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return false;
  --found->second.references;
  return drop_if_unheld(handle);
}

void PhysicalMemory::mapped(const Mapping& mapping) {
  const std::scoped_lock lock(mutex_);
  const auto found = handles_.find(mapping.handle);
  if (found == handles_.end()) return;
  ++found->second.mappings;
  mappings_[mapping.address] = mapping;
}

PhysicalMemory::Unmapped PhysicalMemory::unmapped(std::uint64_t address, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  Unmapped result;
  // An unmap covers whole mappings, one or several.
  for (auto at = mappings_.lower_bound(address); at != mappings_.end() && at->first - address < bytes;) {
    result.mappings.push_back(at->second);
    const std::uint64_t handle = at->second.handle;
    at = mappings_.erase(at);
    --handles_.at(handle).mappings;
    if (drop_if_unheld(handle)) result.ended.push_back(handle);
  }
  return result;
}

}  // namespace peakmark
