#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "record/profile/event.hpp"
#include "record/profile/profile.hpp"

namespace peakmark {

class CallStacks;

/// Writes the profile of this process, from inside a recorder in a user's program. It throws nothing, takes
/// no lock except to extend the file, and needs no destructor: place it in static storage and call `close` at
/// the end. An error ends the recording with one message (report_error), never the program.
///
/// The file is mapped shared, so every committed event survives kill -9. It grows by extents that are
/// allocated on the disk before they are mapped: writing to a page without disk space would kill the program
/// with SIGBUS. An extent is unmapped when all of its events are written; at most 4 MiB are mapped at a time.
/// If an extent cannot be mapped (no address space, or slow threads still write to the maximum number of
/// extents), its events are written with pwrite.
///
/// One descriptor stays open, with a high number and close-on-exec. Before each use its file is compared with
/// the one that was created, because a program that closes all descriptors may have reused the number. The
/// writer holds a shared flock on the file until it is closed or its process ends: `record` does not remove a
/// profile that is still being written.
///
/// A forked child writes `<path>.<its pid>` from its first event on, and no file if it has no event. Only one
/// writer per process follows forks: the one opened last.
class ProfileWriter {
 public:
  /// Maximum bytes of names, phases and notes; longer ones are truncated.
  static constexpr std::size_t kMaxTextBytes = 4096;
  /// Maximum bytes of the text of a call stack; longer ones are truncated. It must fit Event::text_bytes.
  static constexpr std::size_t kMaxStackBytes = 60'000;

  constexpr ProfileWriter() = default;
  ProfileWriter(const ProfileWriter&) = delete;
  ProfileWriter& operator=(const ProfileWriter&) = delete;

  /// Creates `<path>.<pid>`, or `<path>.<pid>.2` and so on if that exists (a program that called exec, or a
  /// second recorder). Returns false, after reporting the error, if it cannot be written. `recorder` goes
  /// into the header.
  bool open(const char* path, const char* recorder);

  /// Calls open() with $PEAKMARK_PROFILE. Prints a message and returns false if it is not set. The profile
  /// begins in the phase that the process has marked before (marks.h). With $PEAKMARK_STACKS=1 every
  /// allocation has the call stack of its caller. The recording stops when the profile reaches
  /// $PEAKMARK_MAX_BYTES. budget() returns $PEAKMARK_BUDGET. Records nothing, without a message, if the
  /// profile's name now belongs to a recording other than $PEAKMARK_RECORDING.
  bool open_from_environment(const char* recorder);

  /// Trims the file and marks it closed. Later events are dropped.
  void close();

  /// Further facts of an allocation. `auxiliary`, `result`, `device`: see Event::Amounts.
  struct Details {
    std::int64_t auxiliary = 0;
    std::uint32_t device = 0;
    std::int32_t result = 0;
  };

  /// Call `allocation` after the driver has returned, and `release` before the driver is called. Then an
  /// address that the driver immediately gives to another thread is released before it is allocated again.
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
  /// Notes that the device worked `ns` on a command, enqueued at `asked_ns` of CLOCK_MONOTONIC.
  void work(std::int64_t ns, std::int64_t asked_ns);
  void name(std::uint64_t address, const char* text) { write_text(EventType::name, address, text); }
  void phase(const char* text) { write_text(EventType::phase, 0, text); }
  void note(const char* text) { write_text(EventType::note, 0, text); }
  /// See EventType::device.
  void device(std::uint32_t number, const char* text) { write_text(EventType::device, number, text); }
  /// Writes the call stack `id`: the first `bytes` of `text`, one frame per line.
  void stack(std::uint64_t id, const char* text, std::size_t bytes) {
    write_text(EventType::stack, id, text, std::min(bytes, kMaxStackBytes));
  }

  /// Returns the bytes that the program may use of each device; 0: no budget. The profile's header contains
  /// it.
  [[nodiscard]] std::int64_t budget() const { return budget_; }
  /// Returns the maximum bytes of one allocation ($PEAKMARK_MAX_ALLOCATION); 0: no limit.
  [[nodiscard]] std::int64_t max_allocation() const { return max_allocation_; }

  /// Returns the number of slots reserved so far.
  [[nodiscard]] std::uint64_t count() const;
  /// Returns the absolute path of the file, or nullptr if there is none.
  [[nodiscard]] const char* path();

 private:
  // Positions count slots from the start of the file; the header occupies the first ones. Extents are small,
  // so that a short program costs little. They are populated when mapped: single page faults would cost more
  // than the rest of an event.
  static constexpr std::uint64_t kExtentBytes = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kSlotsPerExtent = kExtentBytes / sizeof(Event);
  static constexpr std::uint64_t kHeaderSlots = ProfileHeader::kBytes / sizeof(Event);
  static constexpr std::uint64_t kMaxExtents = std::uint64_t{1} << 16;  // 64 GiB of events
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 62;      // added to reserved_ by close()
  static constexpr std::size_t kMaxPath = 4096;

  enum class State { unopened, open, inherited, stopped };

  /// A mapped extent of the file.
  struct Mapping {
    Event* slots = nullptr;
    std::uint64_t extent = 0;
    std::uint64_t written = 0;  // slots from the start of the extent that are known to be written
  };
  static constexpr std::size_t kMaxMappings = 3;

  /// Stores everything but the commit, then the commit: a reader that sees the commit sees the rest.
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
  std::uint64_t caller_stack();

  // The caller must hold growing_:
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
  std::int64_t budget_ = 0;
  std::int64_t max_allocation_ = 0;
  CallStacks* stacks_ = nullptr;  // null: no stacks are recorded
  std::uint64_t max_extents_ = kMaxExtents;
  alignas(64) std::atomic<ProfileHeader*> header_{nullptr};
  pthread_mutex_t growing_ = PTHREAD_MUTEX_INITIALIZER;
  State state_ = State::unopened;
  bool is_synced_ = false;     ///< $PEAKMARK_SYNC
  std::uint64_t extents_ = 0;  // allocated so far
  std::array<Mapping, kMaxMappings> mappings_ = {};
  bool is_being_written_ = false;  // when a fork begins: threads still write to mapped extents
  int descriptor_ = -1;            // check with is_own() before use
  dev_t device_ = 0;               // of the file, to recognise it
  ino_t inode_ = 0;
  char base_[kMaxPath] = {};  // absolute, without the process id
  char path_[kMaxPath] = {};
  char recorder_[sizeof(ProfileHeader::recorder)] = {};
  char recording_[2 * sizeof(ProfileHeader::recording) + 1] = {};  // hexadecimal; empty: unknown
  std::atomic<Event*> table_[kMaxExtents] = {};
};

}  // namespace peakmark
