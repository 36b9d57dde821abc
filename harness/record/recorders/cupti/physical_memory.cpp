#include "record/recorders/cupti/physical_memory.hpp"

namespace peakmark {
namespace {

// Below 2^48, because readers put the process into the upper bits; odd, unlike any handle.
constexpr std::uint64_t kFirstOwnAddress = 0xf000'0000'0001;

}  // namespace

void PhysicalMemory::hold(std::uint64_t memory) {
  if (const auto found = memories_.find(memory); found != memories_.end()) ++found->second.holders;
}

void PhysicalMemory::drop(Taken::Holder holder, Taken& taken) {
  const auto found = memories_.find(holder.memory);
  if (found == memories_.end()) return;
  Memory& memory = found->second;
  holder.event_address = memory.event_address;
  holder.device = memory.device;
  taken.holders.push_back(holder);
  if (--memory.holders > 0) return;
  taken.ended.push_back(memory.event_address);
  event_addresses_.erase(memory.event_address);
  memories_.erase(found);
  drop_parts(kMulticast, holder.memory, taken);
}

void PhysicalMemory::drop_parts(std::uint64_t kind, std::uint64_t owner, Taken& taken) {
  while (true) {
    const auto at = parts_.lower_bound(Part{kind, owner});
    if (at == parts_.end() || at->first[0] != kind || at->first[1] != owner) return;
    const Taken::Holder holder{.memory = at->second, .part = at->first};
    parts_.erase(at);
    drop(holder, taken);
  }
}

std::uint64_t PhysicalMemory::memory_of_handle(std::uint64_t handle) const {
  const auto found = handles_.find(handle);
  return found == handles_.end() ? 0 : found->second.memory;
}

void PhysicalMemory::add_reference(std::uint64_t handle, std::uint64_t memory) {
  hold(memory);
  Handle& entry = handles_[handle];
  if (entry.memory != memory) entry = {.memory = memory, .references = 0};
  ++entry.references;
}

std::uint64_t PhysicalMemory::created(std::uint64_t handle, std::uint32_t device) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t memory = ++last_memory_;
  std::uint64_t address = handle;
  if (event_addresses_.contains(handle)) address = kFirstOwnAddress + 2 * memory;
  event_addresses_.insert(address);
  memories_[memory] = {.event_address = address, .device = device, .holders = 1};
  handles_[handle] = {.memory = memory, .references = 1};
  return address;
}

void PhysicalMemory::imported(std::uint64_t handle) {
  {
    const std::scoped_lock lock(mutex_);
    if (const std::uint64_t memory = memory_of_handle(handle); memory != 0)
      return add_reference(handle, memory);
  }
  created(handle, 0);
}

void PhysicalMemory::retained(std::uint64_t handle, std::uint64_t address) {
  const std::scoped_lock lock(mutex_);
  std::uint64_t memory = memory_at(address);
  if (memory == 0) memory = memory_of_handle(handle);
  if (memory != 0) add_reference(handle, memory);
}

PhysicalMemory::Taken PhysicalMemory::release(std::uint64_t handle) {
  const std::scoped_lock lock(mutex_);
  Taken taken;
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return taken;
  const std::uint64_t memory = found->second.memory;
  if (--found->second.references == 0) handles_.erase(found);
  drop({.memory = memory, .handle = handle}, taken);
  return taken;
}

void PhysicalMemory::mapped(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t memory = memory_of_handle(handle);
  if (memory == 0) return;
  hold(memory);
  mappings_[address] = {.bytes = bytes, .memory = memory};
}

PhysicalMemory::Taken PhysicalMemory::unmap(std::uint64_t address, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  Taken taken;
  for (auto at = mappings_.lower_bound(address); at != mappings_.end() && at->first - address < bytes;) {
    const Taken::Holder holder{.memory = at->second.memory, .address = at->first, .bytes = at->second.bytes};
    at = mappings_.erase(at);
    drop(holder, taken);
  }
  return taken;
}

void PhysicalMemory::part_mapped(const Part& part, std::uint64_t handle) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t memory = memory_of_handle(handle);
  if (memory == 0 || !parts_.try_emplace(part, memory).second) return;
  hold(memory);
}

void PhysicalMemory::bind(std::uint64_t multicast, std::uint64_t offset, std::uint64_t memory) {
  const std::uint64_t object = memory_of_handle(multicast);
  const auto found = memories_.find(memory);
  if (object == 0 || found == memories_.end()) return;
  if (parts_.try_emplace(Part{kMulticast, object, found->second.device, offset}, memory).second) {
    hold(memory);
  }
}

void PhysicalMemory::bound(std::uint64_t multicast, std::uint64_t offset, std::uint64_t handle) {
  const std::scoped_lock lock(mutex_);
  bind(multicast, offset, memory_of_handle(handle));
}

void PhysicalMemory::bound_address(std::uint64_t multicast, std::uint64_t offset, std::uint64_t address) {
  const std::scoped_lock lock(mutex_);
  bind(multicast, offset, memory_at(address));
}

PhysicalMemory::Taken PhysicalMemory::unbind(std::uint64_t multicast, std::uint32_t device,
                                             std::uint64_t offset) {
  std::uint64_t object = 0;
  {
    const std::scoped_lock lock(mutex_);
    object = memory_of_handle(multicast);
  }
  return unmap_part(Part{kMulticast, object, device, offset});
}

PhysicalMemory::Taken PhysicalMemory::unmap_part(const Part& part) {
  const std::scoped_lock lock(mutex_);
  Taken taken;
  const auto found = parts_.find(part);
  if (found == parts_.end()) return taken;
  const Taken::Holder holder{.memory = found->second, .part = part};
  parts_.erase(found);
  drop(holder, taken);
  return taken;
}

PhysicalMemory::Taken PhysicalMemory::unmap_array(std::uint64_t array) {
  const std::scoped_lock lock(mutex_);
  Taken taken;
  drop_parts(kArray, array, taken);
  return taken;
}

std::uint64_t PhysicalMemory::memory_at(std::uint64_t address) const {
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return 0;
  const auto& [start, mapping] = *std::prev(after);
  return address - start < mapping.bytes ? mapping.memory : 0;
}

void PhysicalMemory::undo(const Taken& taken) {
  const std::scoped_lock lock(mutex_);
  for (const Taken::Holder& one : taken.holders) {
    Memory& memory = memories_[one.memory];
    memory.event_address = one.event_address;
    memory.device = one.device;
    ++memory.holders;
    event_addresses_.insert(one.event_address);
    if (one.handle != 0) {
      Handle& handle = handles_[one.handle];
      handle.memory = one.memory;
      ++handle.references;
    } else if (one.part) {
      parts_[*one.part] = one.memory;
    } else {
      mappings_[one.address] = {.bytes = one.bytes, .memory = one.memory};
    }
  }
}

}  // namespace peakmark
