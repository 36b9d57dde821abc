#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

/// The memory of one device. Bytes are requested bytes of the kinds that count into the peak.
struct DeviceUse {
  std::string name;  ///< `PLATFORM: NAME`, with its number, as in ` (1)`, if another device has the same name
  Size peak_bytes = 0;
  Size live_at_end_bytes = 0;
  std::int64_t allocations = 0;
  bool operator==(const DeviceUse&) const = default;
};

/// Returns the devices of a process that used several, by their numbers. Memory of a context with several
/// devices counts on each of them. Empty if it used one device.
std::vector<DeviceUse> use_by_device(std::span<const Event> events);

/// Returns whether memory (an allocation, EventType::live) is included.
using MemoryFilter = std::function<bool(const Event&)>;

/// Returns two filters for each device of a process that used several: without and with memory whose devices
/// are unknown. Valid as long as `events`.
std::vector<MemoryFilter> memory_by_device(std::span<const Event> events);

/// Returns the events without the memory of other devices than this one, by DeviceUse::name.
std::vector<Event> events_of_device(std::span<const Event> events, const std::string& name);

}  // namespace peakmark
