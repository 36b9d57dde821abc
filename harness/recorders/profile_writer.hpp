#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "profile/event.hpp"
#include "profile/profile.hpp"

namespace peakmark {

class CallStacks;

/// Writes the profile of this process, from inside a recorder that lives in somebody else's program. So it
/// throws nothing, takes no lock but to extend the file, needs no destructor (place it in static storage and
/// call `close` at the end), and what goes wrong ends the recording with one message (report_error), never
/// the program.
///
/// The file is mapped and shared, so that every event whose commit is stored survives a kill −9. It grows by
/// extents that are allocated on the disk before they are mapped: writing to a page that finds no room would
/// kill the program with SIGBUS. An extent whose events are all written is unmapped: at most 4 MiB are mapped
/// at a time. Events of an extent that cannot be mapped (no address space, or slow threads still write to as
/// many as may be mapped) go into the file by pwrite.
///
/// One descriptor stays open, with a high number and close-on-exec. Before each use its file is compared with
/// the one that was created: a program that closes all descriptors may have given the number to another file.
/// The writer holds a shared flock on the file until it is closed or its process ends: `record` does not
/// remove a profile that is still written.
///
/// A forked child writes `<path>.<its pid>` from its first event on, and nothing where it has none.
/// One writer a process follows forks: the one opened last.
class ProfileWriter {
 public:
  /// Longer texts of names, phases and notes are cut.
  static constexpr std::size_t kMaxTextBytes = 4096;
  /// Of the text of a call stack: it must fit Event::text_bytes.
  static constexpr std::size_t kMaxStackBytes = 60'000;

  constexpr ProfileWriter() = default;
  ProfileWriter(const ProfileWriter&) = delete;
  ProfileWriter& operator=(const ProfileWriter&) = delete;

  /// Creates `<path>.<pid>`, or `<path>.<pid>.2` and so on where that exists (a program that executed another
  /// in its place, or a second recorder). False, with a message, when it cannot be written.
  /// `recorder` goes into the header.
  bool open(const char* path, const char* recorder);

  /// open() with $PEAKMARK_PROFILE; a message and false where it is not set. Begins in the phase that the
  /// process has marked before (marks.h). With $PEAKMARK_STACKS=1 every allocation brings the call stack of
  /// its caller. The recording stops when the profile has $PEAKMARK_MAX_BYTES. Nothing is recorded, without a
  /// message, where the name is that of another recording than $PEAKMARK_RECORDING by now.
  bool open_from_environment(const char* recorder);

  /// Trims the file and marks it closed. Events that come later are dropped.
  void close();

  /// What an allocation is told of; `auxiliary`, `device` and `result` are CUDA's. `result`: see
  /// Event::Amounts.
  struct Details {
    std::int64_t auxiliary = 0;
    std::uint32_t device = 0;
    std::int32_t result = 0;
  };

  /// Call it after the driver has answered, `release` before the driver is asked: so an address that the
  /// driver gives to another thread at once is released before it is allocated again.
  void allocation(std::uint64_t address, std::int64_t bytes, MemoryKind kind, Details details);
  void allocation(std::uint64_t address, std::int64_t bytes, MemoryKind kind) {
    allocation(address, bytes, kind, Details{});
  }
  void failed_allocation(std::int64_t bytes, MemoryKind kind, std::int32_t result, Details details);
  void failed_allocation(std::int64_t bytes, MemoryKind kind, std::int32_t result) {
    failed_allocation(bytes, kind, result, Details{});
  }
  void release(std::uint64_t address);
  void pool(std::uint64_t pool, std::int64_t reserved_bytes, std::int64_t used_bytes);
  /// The device has worked on a command, asked for at `asked_ns` of CLOCK_MONOTONIC.
  void work(std::int64_t ns, std::int64_t asked_ns);
  void name(std::uint64_t address, const char* text) { write_text(EventType::name, address, text); }
  void phase(const char* text) { write_text(EventType::phase, 0, text); }
  void note(const char* text) { write_text(EventType::note, 0, text); }
  /// The call stack `id`, whose lines are the first `bytes` of `text`.
  void stack(std::uint64_t id, const char* text, std::size_t bytes) {
    write_text(EventType::stack, id, text, std::min(bytes, kMaxStackBytes));
  }

  /// Slots given out so far.
  [[nodiscard]] std::uint64_t count() const;
  /// Absolute path of the file; nullptr when there is none.
  [[nodiscard]] const char* path();

 private:
  // Positions count slots from the start of the file; the header takes the first ones. Extents are small
  // enough that a short program costs little, and populated when mapped: page faults one by one would cost
  // more than all the rest of an event.
  static constexpr std::uint64_t kExtentBytes = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kSlotsPerExtent = kExtentBytes / sizeof(Event);
  static constexpr std::uint64_t kHeaderSlots = ProfileHeader::kBytes / sizeof(Event);
  static constexpr std::uint64_t kMaxExtents = std::uint64_t{1} << 16;  // 64 GiB of events
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 62;      // added to reserved_ by close()
  static constexpr std::size_t kMaxPath = 4096;

  enum class State { unopened, open, inherited, stopped };

  /// What is mapped of the file.
  struct Mapping {
    Event* slots = nullptr;
    std::uint64_t extent = 0;
    std::uint64_t written = 0;  // slots from the start of the extent that are known to be written
  };
  static constexpr std::size_t kMaxMappings = 3;

  /// Everything but the commit, then the commit: whoever sees it sees the rest.
  static void commit(Event& slot, const Event& event, std::uint64_t index) {
    std::memcpy(reinterpret_cast<char*>(&slot) + sizeof(slot.commit),
                reinterpret_cast<const char*>(&event) + sizeof(event.commit),
                sizeof(Event) - sizeof(event.commit));
    std::atomic_ref(slot.commit).store(index + 1, std::memory_order_release);
  }
  void put(const Event& event, std::uint64_t index);
  void put_slowly(const Event& event, std::uint64_t index);
  void write(Event& event);
  void write_text(EventType type, std::uint64_t address, const char* text);
  void write_text(EventType type, std::uint64_t address, const char* text, std::size_t bytes);
  std::uint64_t stack_of_caller();

  // With growing_ held:
  [[nodiscard]] bool is_of_another_recording() const;
  bool create_file();
  void fill_header();
  bool map_header();
  void extend();
  Event* map(std::uint64_t extent);
  void find_written(Mapping& mapping) const;
  void unmap_written();
  void unmap_all();
  [[nodiscard]] bool has_unwritten_slots() const;
  [[nodiscard]] int write_unmapped(const Event& event, std::uint64_t index);
  [[nodiscard]] bool is_own(int descriptor) const;
  int descriptor();
  void close_descriptor();
  void stop(int error);
  void report(const char* what, int error) const;

  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();
  void follow_forks();

  alignas(64) std::atomic<std::uint64_t> reserved_{0};
  alignas(64) std::atomic<ProfileHeader*> header_{nullptr};
  pthread_mutex_t growing_ = PTHREAD_MUTEX_INITIALIZER;
  State state_ = State::unopened;
  CallStacks* stacks_ = nullptr;  // null: no stacks are recorded
  std::uint64_t extents_ = 0;     // allocated so far
  std::uint64_t max_extents_ = kMaxExtents;
  std::array<Mapping, kMaxMappings> mappings_ = {};
  bool is_being_written_ = false;  // as a fork begins: threads still write to what is mapped
  int descriptor_ = -1;            // compare with is_own() before use
  dev_t device_ = 0;               // of the file, to recognise it again
  ino_t inode_ = 0;
  char base_[kMaxPath] = {};  // absolute, without the process id
  char path_[kMaxPath] = {};
  char recorder_[sizeof(ProfileHeader::recorder)] = {};
  char recording_[2 * sizeof(ProfileHeader::recording) + 1] = {};  // hexadecimal; empty: unknown
  std::atomic<Event*> table_[kMaxExtents] = {};
};

}  // namespace peakmark
