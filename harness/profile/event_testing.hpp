#pragma once

#include "base/size.hpp"
#include "profile/event.hpp"

namespace peakmark::testing_support {

inline Event allocation(std::uint64_t address, Size bytes, MemoryKind kind = MemoryKind::buffer) {
  Event event;
  event.type = EventType::allocation;
  event.address = address;
  event.kind = kind;
  event.amounts.bytes = bytes;
  return event;
}

inline Event release(std::uint64_t address) {
  Event event;
  event.type = EventType::release;
  event.address = address;
  return event;
}

}  // namespace peakmark::testing_support
