#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace peakmark {

class ProfileWriter;

/// Computes the phase of a process from its marks and its NVTX ranges: the open range that began last, or the
/// last mark if no range is open. A mark also takes effect inside a range, until a range begins or ends. The
/// empty mark returns to the open range. A phase belongs to the process, not to a thread.
///
/// Runs inside a recorder: no heap memory, no exceptions. Marks and ranges may come before the profile
/// exists, which then begins in the current phase. A forked child does not inherit the mark.
class OpenRanges {
 public:
  static constexpr std::size_t kMaxRanges = 256;  ///< open at the same time; further ranges are ignored
  static constexpr std::size_t kMaxName = 256;  ///< bytes of a name with its terminator; longer names are cut

  using Begin = void (*)(std::uint64_t id, const char* name);
  using End = void (*)(std::uint64_t id);

  /// Place it in static storage.
  constexpr OpenRanges() = default;
  OpenRanges(const OpenRanges&) = delete;
  OpenRanges& operator=(const OpenRanges&) = delete;

  /// Writes phases with `writer` from now on, beginning with the current one.
  void attach(ProfileWriter& writer);
  void mark(const char* name);
  void begin(std::uint64_t id, const char* name);
  /// Has no effect if no such range is open.
  void end(std::uint64_t id);

  /// From now on forwards ranges to another recorder of this process, beginning with the open ones. No other
  /// recorder may forward to that one.
  void forward_to(Begin begin, End end);

 private:
  struct Range {
    std::uint64_t id;
    char name[kMaxName];
  };
  void write_phase();
  static void follow_forks();
  static void reset_in_child();

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  ProfileWriter* writer_ = nullptr;
  Begin forward_begin_ = nullptr;
  End forward_end_ = nullptr;
  std::size_t count_ = 0;
  Range ranges_[kMaxRanges] = {};
  char mark_[kMaxName] = {};
};

/// Returns the ranges of this recorder's process.
OpenRanges& open_ranges();

}  // namespace peakmark
