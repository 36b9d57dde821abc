#pragma once

#include <cstring>
#include <string_view>

#include "base/size.hpp"
#include "record/profile/event.hpp"

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

/// An event with a text that fits one slot.
inline Event text_event(EventType type, std::uint64_t address, std::string_view text) {
  Event event;
  event.type = type;
  event.address = address;
  event.text_bytes = static_cast<std::uint16_t>(text.size());
  std::memcpy(event.text, text.data(), text.size());
  return event;
}

}  // namespace peakmark::testing_support
