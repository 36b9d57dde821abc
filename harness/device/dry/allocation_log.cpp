#include "device/dry/allocation_log.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace peakmark {
namespace {

constexpr std::int32_t kRefused = -4;  // as OpenCL's CL_MEM_OBJECT_ALLOCATION_FAILURE

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

Event& AllocationLog::append(EventType type, MemoryKind kind, std::uint64_t address) {
  Event& event = events_.emplace_back();
  event.commit = events_.size();
  event.time_ns = now_ns();
  event.type = type;
  event.kind = kind;
  event.address = address;
  return event;
}

void AllocationLog::append_text(EventType type, std::uint64_t address, std::string_view text) {
  text = text.substr(0, std::numeric_limits<std::uint16_t>::max());
  Event* event = &append(type, MemoryKind::none, address);
  event->text_bytes = static_cast<std::uint16_t>(text.size());
  for (;;) {
    std::memset(event->text, 0, sizeof(event->text));
    const std::size_t bytes = std::min(text.size(), sizeof(event->text));
    std::memcpy(event->text, text.data(), bytes);
    text.remove_prefix(bytes);
    if (text.empty()) return;
    event = &append(EventType::text, MemoryKind::none, address);
  }
}

std::uint64_t AllocationLog::allocate(Size bytes) {
  const Size live = checked_add(live_, bytes);
  if (budget_ && live > *budget_) {
    Event& event = append(EventType::failed_allocation, kind_, 0);
    event.amounts.bytes = bytes;
    event.amounts.result = kRefused;
    throw OutOfMemory(
        fmt::format("{} bytes beside {} live ones exceed the dry budget of {}", bytes, live_, *budget_));
  }
  const std::uint64_t address = next_address_++;
  append(EventType::allocation, kind_, address).amounts.bytes = bytes;
  live_ = live;
  return address;
}

void AllocationLog::release(std::uint64_t address, Size bytes) {
  append(EventType::release, kind_, address);
  live_ -= bytes;
}

void AllocationLog::phase(std::string_view name) {
  append_text(EventType::phase, 0, name);
}

void AllocationLog::name(std::uint64_t address, std::string_view name) {
  append_text(EventType::name, address, name);
}

std::vector<Event> AllocationLog::events(std::uint64_t first) {
  first = std::min<std::uint64_t>(first, events_.size());
  return {events_.begin() + static_cast<std::ptrdiff_t>(first), events_.end()};
}

}  // namespace peakmark
