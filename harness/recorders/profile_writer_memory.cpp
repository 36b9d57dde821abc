// What a ProfileWriter has mapped of its file, and what a forked child inherits of it.
#include <sys/mman.h>

#include <algorithm>

#include "recorders/profile_writer.hpp"
#include "recorders/thread_id.hpp"

namespace peakmark {
namespace {

std::atomic<ProfileWriter*> followed{nullptr};

}  // namespace

/// Returns nullptr where the extent cannot be mapped.
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

/// A slot is touched by the thread that reserved it, until its commit is stored: what is written everywhere
/// is touched by nobody any more.
void ProfileWriter::unmap_written() {
  if (state_ != State::open) return;  // a closed file is cut off: beyond its end a mapping cannot be read
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

/// Unmaps everything but what somebody may still write to.
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
  forget_thread_id();
  // Other threads' events are not written here. The forking thread may be in the middle of one, when it forks
  // in a signal handler: then what it writes to stays mapped. A child that was forked from a recording that
  // had ended records nothing.
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
