#include "record/recorders/open_ranges.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>

#include "record/recorders/mutex_lock.hpp"
#include "record/recorders/profile_writer.hpp"

namespace peakmark {
namespace {

constinit OpenRanges ranges_of_process;

template <std::size_t Size>
void copy(char (&to)[Size], const char* name) {
  std::snprintf(to, Size, "%s", name == nullptr ? "" : name);
}

}  // namespace

OpenRanges& open_ranges() {
  return ranges_of_process;
}

/// The caller must hold the lock, so that phases are written in their order.
void OpenRanges::write_phase() {
  if (writer_ != nullptr) writer_->phase(count_ == 0 ? mark_ : ranges_[count_ - 1].name);
}

void OpenRanges::follow_forks() {
  static std::atomic<bool> registered{false};
  if (!registered.exchange(true)) pthread_atfork(nullptr, nullptr, reset_in_child);
}

void OpenRanges::attach(ProfileWriter& writer) {
  follow_forks();
  const MutexLock lock(mutex_);
  writer_ = &writer;
  if (count_ != 0 || mark_[0] != '\0') write_phase();
}

void OpenRanges::mark(const char* name) {
  follow_forks();
  const MutexLock lock(mutex_);
  copy(mark_, name);
  if (writer_ == nullptr) return;
  if (mark_[0] == '\0') {
    write_phase();
  } else {
    writer_->phase(name);
  }
}

void OpenRanges::begin(std::uint64_t id, const char* name) {
  follow_forks();
  const MutexLock lock(mutex_);
  if (count_ == kMaxRanges) return;
  Range& range = ranges_[count_];
  range.id = id;
  copy(range.name, name);
  ++count_;
  write_phase();
  if (forward_begin_ != nullptr) forward_begin_(id, range.name);
}

void OpenRanges::end(std::uint64_t id) {
  const MutexLock lock(mutex_);
  std::size_t at = count_;
  while (at > 0 && ranges_[at - 1].id != id) --at;
  if (at == 0) return;
  const bool was_current = at == count_;
  std::memmove(&ranges_[at - 1], &ranges_[at], (count_ - at) * sizeof(Range));
  --count_;
  if (was_current) write_phase();
  if (forward_end_ != nullptr) forward_end_(id);
}

void OpenRanges::forward_to(Begin begin, End end) {
  const MutexLock lock(mutex_);
  if (forward_begin_ == begin) return;
  forward_begin_ = begin;
  forward_end_ = end;
  for (std::size_t i = 0; i < count_; ++i) begin(ranges_[i].id, ranges_[i].name);
}

/// The thread that held the lock may not exist in the child. A mark applies to one process only.
void OpenRanges::reset_in_child() {
  pthread_mutex_init(&ranges_of_process.mutex_, nullptr);
  ranges_of_process.mark_[0] = '\0';
}

}  // namespace peakmark
