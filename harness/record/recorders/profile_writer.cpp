// The fast path of ProfileWriter, its mappings, and forks. profile_writer_file.cpp creates, extends and
// closes the file.
#include "record/recorders/profile_writer.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "record/recorders/call_stack.hpp"

namespace peakmark {
namespace {

thread_local std::uint32_t cached_thread_id = 0;

/// Returns the kernel's id of this thread. In a forked child the cached id is reset (after_fork_in_child).
std::uint32_t thread_id() {
  if (cached_thread_id == 0) cached_thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
  return cached_thread_id;
}

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// The writer that follows forks.
std::atomic<ProfileWriter*> followed{nullptr};

}  // namespace

inline void ProfileWriter::put(const Event& event, std::uint64_t index) {
  const std::uint64_t position = index + kHeaderSlots;
  const std::uint64_t extent = position / kSlotsPerExtent;
  if (extent < kMaxExtents) {
    // The extent stays mapped until this slot is written.
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
  // The head is written last: once it is committed, the whole text is complete.
  for (std::size_t i = slots; i-- > 0;) {
    event.type = i == 0 ? type : EventType::text;
    const std::size_t from = i * sizeof(event.text);
    std::memset(event.text, 0, sizeof(event.text));
    std::memcpy(event.text, text + from, std::min(bytes - std::min(bytes, from), sizeof(event.text)));
    put(event, index + i);
  }
}

inline std::uint64_t ProfileWriter::caller_stack() {
  return stacks_ == nullptr ? 0 : stacks_->caller_id(*this);
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
  event.amounts.stack = caller_stack();
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
  event.amounts.stack = caller_stack();
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

// Mappings, and their inheritance by a forked child.

/// Returns nullptr if the extent cannot be mapped.
Event* ProfileWriter::map(std::uint64_t extent) {
  unmap_written();
  const auto free = std::find_if(mappings_.begin(), mappings_.end(),
                                 [](const Mapping& mapping) { return mapping.slots == nullptr; });
  const int file = descriptor();
  if (free == mappings_.end() || file < 0) return nullptr;
  void* const memory = mmap(nullptr, kExtentBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file,
                            static_cast<off_t>(extent * kExtentBytes));
  if (memory == MAP_FAILED) return nullptr;
  *free = {static_cast<Event*>(memory), extent, extent == 0 ? kHeaderSlots : 0};
  table_[extent].store(free->slots, std::memory_order_release);
  return free->slots;
}

void ProfileWriter::find_written(Mapping& mapping) const {
  for (; mapping.written < kSlotsPerExtent; ++mapping.written) {
    const std::uint64_t index = mapping.extent * kSlotsPerExtent + mapping.written - kHeaderSlots;
    const std::atomic_ref commit(mapping.slots[mapping.written].commit);
    if (commit.load(std::memory_order_acquire) != index + 1) return;
  }
}

/// A slot is written only by the thread that reserved it, until its commit is stored. So no thread writes to
/// an extent in which all slots are committed.
void ProfileWriter::unmap_written() {
  if (state_ != State::open)
    return;  // a closed file is truncated, and a mapping beyond its end cannot be read
  for (Mapping& mapping : mappings_) {
    if (mapping.slots == nullptr) continue;
    find_written(mapping);
    if (mapping.written < kSlotsPerExtent) continue;
    table_[mapping.extent].store(nullptr, std::memory_order_relaxed);
    munmap(mapping.slots, kExtentBytes);
    mapping = {};
  }
}

void ProfileWriter::follow_forks() {
  static std::atomic<bool> registered{false};
  followed.store(this);
  if (!registered.exchange(true)) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/// Unmaps everything, unless a thread may still write to a mapping.
void ProfileWriter::unmap_all() {
  if (is_being_written_) return;
  for (const Mapping& mapping : mappings_) {
    if (mapping.slots != nullptr) munmap(mapping.slots, kExtentBytes);
  }
  if (ProfileHeader* const header = header_.load(std::memory_order_relaxed)) {
    munmap(header, ProfileHeader::kBytes);
  }
}

bool ProfileWriter::has_unwritten_slots() const {
  const std::uint64_t end = reserved_.load(std::memory_order_relaxed) + kHeaderSlots;
  return std::any_of(mappings_.begin(), mappings_.end(), [&](const Mapping& mapping) {
    const std::uint64_t first = mapping.extent * kSlotsPerExtent;
    return mapping.slots != nullptr && first + mapping.written < std::min(end, first + kSlotsPerExtent);
  });
}

void ProfileWriter::before_fork() {
  ProfileWriter* const writer = followed.load();
  if (writer == nullptr) return;
  pthread_mutex_lock(&writer->growing_);
  writer->unmap_written();
  writer->is_being_written_ = writer->state_ != State::open || writer->has_unwritten_slots();
}

void ProfileWriter::after_fork_in_parent() {
  if (ProfileWriter* const writer = followed.load()) pthread_mutex_unlock(&writer->growing_);
}

void ProfileWriter::after_fork_in_child() {
  ProfileWriter* const writer = followed.load();
  if (writer == nullptr) return;
  cached_thread_id = 0;
  // The child does not finish events of other threads. If the thread forked inside a signal handler, in the
  // middle of its own event, the mapping that it writes to stays. A child of a recording that has ended
  // records nothing.
  writer->close_descriptor();
  writer->unmap_all();
  for (std::uint64_t i = 0; i < writer->extents_; ++i) {
    if (writer->table_[i].load() != nullptr) writer->table_[i].store(nullptr);
  }
  writer->mappings_ = {};
  writer->extents_ = 0;
  writer->header_.store(nullptr);
  if (writer->state_ == State::open) {
    writer->state_ = State::inherited;
    writer->reserved_.store(0);
  }
  pthread_mutex_unlock(&writer->growing_);
}

}  // namespace peakmark
