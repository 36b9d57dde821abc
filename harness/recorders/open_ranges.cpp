#include "recorders/open_ranges.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>

#include "recorders/profile_writer.hpp"

namespace peakmark {
namespace {

constinit OpenRanges ranges_of_process;

class Held {
 public:
  explicit Held(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t& mutex_;
};

template <std::size_t Room>
void copy(char (&to)[Room], const char* name) {
  std::snprintf(to, Room, "%s", name == nullptr ? "" : name);
}

}  // namespace

OpenRanges& open_ranges() {
  return ranges_of_process;
}

/// The lock is held while the phase is written, so that the profile has phases in the order in which they
/// came.
void OpenRanges::tell() {
  if (writer_ != nullptr) writer_->phase(count_ == 0 ? mark_ : ranges_[count_ - 1].name);
}

void OpenRanges::follow_forks() {
  static std::atomic<bool> registered{false};
  if (!registered.exchange(true)) pthread_atfork(nullptr, nullptr, begin_anew_in_child);
}

void OpenRanges::attach(ProfileWriter& writer) {
  follow_forks();
  const Held lock(mutex_);
  writer_ = &writer;
  if (count_ != 0 || mark_[0] != '\0') tell();
}

void OpenRanges::mark(const char* name) {
  follow_forks();
  const Held lock(mutex_);
  copy(mark_, name);
  if (writer_ == nullptr) return;
  if (mark_[0] == '\0') {
    tell();
  } else {
    writer_->phase(name);
  }
}

void OpenRanges::begin(std::uint64_t id, const char* name) {
  follow_forks();
  const Held lock(mutex_);
  if (count_ == kMost) return;
  Range& range = ranges_[count_];
  range.id = id;
  copy(range.name, name);
  ++count_;
  tell();
  if (begin_other_ != nullptr) begin_other_(id, range.name);
}

void OpenRanges::end(std::uint64_t id) {
  const Held lock(mutex_);
  std::size_t at = count_;
  while (at > 0 && ranges_[at - 1].id != id) --at;
  if (at == 0) return;
  const bool was_current = at == count_;
  std::memmove(&ranges_[at - 1], &ranges_[at], (count_ - at) * sizeof(Range));
  --count_;
  if (was_current) tell();
  if (end_other_ != nullptr) end_other_(id);
}

void OpenRanges::lead(Begin begin, End end) {
  const Held lock(mutex_);
  if (begin_other_ == begin) return;
  begin_other_ = begin;
  end_other_ = end;
  for (std::size_t i = 0; i < count_; ++i) begin(ranges_[i].id, ranges_[i].name);
}

/// The thread that held the lock may not be in the child. A phase is marked for one process only.
void OpenRanges::begin_anew_in_child() {
  pthread_mutex_init(&ranges_of_process.mutex_, nullptr);
  ranges_of_process.mark_[0] = '\0';
}

}  // namespace peakmark
