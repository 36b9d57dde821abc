#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "record/show/process_tree.hpp"

namespace peakmark {

/// A process with the events that a test adds.
class SampleProcess {
 public:
  explicit SampleProcess(std::int32_t pid) {
    std::memcpy(process_.header.magic, ProfileHeader::kMagic, sizeof(ProfileHeader::kMagic));
    process_.header.version = ProfileHeader::kVersion;
    process_.header.header_bytes = ProfileHeader::kBytes;
    process_.header.pid = pid;
    std::strcpy(process_.header.recorder, "opencl-layer 1");
    process_.command_line = {"program", "--flag"};
    process_.complete = true;
  }
  SampleProcess& allocate(std::int64_t time, std::uint64_t address, std::int64_t bytes,
                          MemoryKind kind = MemoryKind::buffer) {
    Event& event = add(EventType::allocation, time, address);
    event.kind = kind;
    event.amounts.bytes = bytes;
    return *this;
  }
  SampleProcess& release(std::int64_t time, std::uint64_t address) {
    add(EventType::release, time, address);
    return *this;
  }
  SampleProcess& refused_release(std::int64_t time, std::uint64_t address, std::int64_t bytes,
                                 std::int32_t result) {
    allocate(time, address, bytes);
    events_.back().amounts.result = result;
    return *this;
  }
  SampleProcess& fail(std::int64_t time, std::int64_t bytes) {
    Event& event = add(EventType::failed_allocation, time, 0);
    event.kind = MemoryKind::image;
    event.amounts.bytes = bytes;
    event.amounts.result = -4;
    return *this;
  }
  /// This limit refused the last request.
  SampleProcess& by(RefusedBy limit) {
    events_.back().amounts.auxiliary = static_cast<std::int64_t>(limit);
    return *this;
  }
  /// The recorder finished the queue after each enqueue.
  SampleProcess& synced() {
    process_.header.minor = ProfileHeader::kMinor;
    process_.header.is_synced = 1;
    return *this;
  }
  /// The last allocation is of this pool.
  SampleProcess& from_pool(std::int64_t pool) {
    events_.back().amounts.auxiliary = pool;
    return *this;
  }
  SampleProcess& pool(std::int64_t time, std::uint64_t pool, std::int64_t held) {
    add(EventType::pool, time, pool).amounts.bytes = held;
    return *this;
  }
  /// Sets the number of the devices of the last allocation (EventType::device).
  SampleProcess& on(std::uint32_t devices) {
    events_.back().amounts.device = devices;
    return *this;
  }
  /// Sets the call stack of the last allocation.
  SampleProcess& from(std::uint64_t stack) {
    events_.back().amounts.stack = stack;
    return *this;
  }
  SampleProcess& say(EventType type, std::int64_t time, std::uint64_t address, std::string_view text) {
    const std::uint64_t head = events_.size() + 1;
    do {
      const std::size_t bytes = std::min(text.size(), sizeof(Event::text));
      Event& event = add(events_.size() + 1 == head ? type : EventType::text, time, address);
      event.commit = events_.size();
      event.text_bytes = static_cast<std::uint16_t>(text.size());
      std::memcpy(event.text, text.data(), bytes);
      text.remove_prefix(bytes);
    } while (!text.empty());
    return *this;
  }
  RecordedProcess process() const {
    RecordedProcess process = process_;
    process.events = events_;
    return process;
  }

 private:
  Event& add(EventType type, std::int64_t time, std::uint64_t address) {
    Event event;
    event.type = type;
    event.time_ns = time;
    event.address = address;
    event.thread = 11;
    events_.push_back(event);
    return events_.back();
  }

  RecordedProcess process_;
  std::vector<Event> events_;
};

}  // namespace peakmark
