#include "recorders/profile_writer.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "recorders/call_stack.hpp"
#include "recorders/thread_id.hpp"

namespace peakmark {
namespace {

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

inline void ProfileWriter::put(const Event& event, std::uint64_t index) {
  const std::uint64_t position = index + kHeaderSlots;
  const std::uint64_t extent = position / kSlotsPerExtent;
  if (extent < kMaxExtents) {
    // It stays mapped until this slot is written too.
    if (Event* const slots = table_[extent].load(std::memory_order_acquire)) {
      return commit(slots[position % kSlotsPerExtent], event, index);
    }
  }
  put_slowly(event, index);
}

void ProfileWriter::write(Event& event) {
  event.time_ns = now_ns();
  event.thread = thread_id();
  const std::uint64_t index = reserved_.fetch_add(1, std::memory_order_relaxed);
  put(event, index);
}

void ProfileWriter::write_text(EventType type, std::uint64_t address, const char* text) {
  if (text == nullptr) text = "";
  write_text(type, address, text, strnlen(text, kMaxTextBytes));
}

void ProfileWriter::write_text(EventType type, std::uint64_t address, const char* text, std::size_t bytes) {
  const std::size_t slots = std::max<std::size_t>(1, (bytes + sizeof(Event::text) - 1) / sizeof(Event::text));
  const std::uint64_t index = reserved_.fetch_add(slots, std::memory_order_relaxed);

  Event event;
  event.time_ns = now_ns();
  event.thread = thread_id();
  event.address = address;
  event.text_bytes = static_cast<std::uint16_t>(bytes);
  // The head comes last: once it is committed the whole text is there.
  for (std::size_t i = slots; i-- > 0;) {
    event.type = i == 0 ? type : EventType::text;
    const std::size_t from = i * sizeof(event.text);
    std::memset(event.text, 0, sizeof(event.text));
    std::memcpy(event.text, text + from, std::min(bytes - std::min(bytes, from), sizeof(event.text)));
    put(event, index + i);
  }
}

inline std::uint64_t ProfileWriter::stack_of_caller() {
  return stacks_ == nullptr ? 0 : stacks_->id_of_caller(*this);
}

void ProfileWriter::allocation(std::uint64_t address, std::int64_t bytes, MemoryKind kind, Details details) {
  Event event;
  event.type = EventType::allocation;
  event.address = address;
  event.kind = kind;
  event.amounts.bytes = bytes;
  event.amounts.result = details.result;
  event.amounts.auxiliary = details.auxiliary;
  event.amounts.device = details.device;
  event.amounts.stack = stack_of_caller();
  write(event);
}

void ProfileWriter::failed_allocation(std::int64_t bytes, MemoryKind kind, std::int32_t result,
                                      Details details) {
  Event event;
  event.type = EventType::failed_allocation;
  event.kind = kind;
  event.amounts.bytes = bytes;
  event.amounts.result = result;
  event.amounts.auxiliary = details.auxiliary;
  event.amounts.device = details.device;
  event.amounts.stack = stack_of_caller();
  write(event);
}

void ProfileWriter::release(std::uint64_t address) {
  Event event;
  event.type = EventType::release;
  event.address = address;
  write(event);
}

void ProfileWriter::pool(std::uint64_t pool, std::int64_t reserved_bytes, std::int64_t used_bytes) {
  Event event;
  event.type = EventType::pool;
  event.address = pool;
  event.amounts.bytes = reserved_bytes;
  event.amounts.auxiliary = used_bytes;
  write(event);
}

void ProfileWriter::work(std::int64_t ns, std::int64_t asked_ns) {
  Event event;
  event.type = EventType::work;
  event.address = 1;
  event.amounts.bytes = ns;
  event.amounts.auxiliary = asked_ns;
  write(event);
}

std::uint64_t ProfileWriter::count() const {
  const std::uint64_t reserved = reserved_.load(std::memory_order_relaxed);
  if (reserved < kClosed) return reserved;
  const ProfileHeader* const header = header_.load(std::memory_order_acquire);
  return header == nullptr ? 0 : header->end;
}

}  // namespace peakmark
