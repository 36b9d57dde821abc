#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace peakmark {

class ProfileWriter;

/// The phase of a process, out of its marks and its ranges (NVTX): the range that began last and has not
/// ended; where none is open, the last mark. A mark counts at once, also inside a range, until a range begins
/// or ends; the empty mark gives the phase back to the open range. A phase is the process's, whatever the
/// thread.
///
/// In a recorder, so: no memory of the heap, no exceptions. Marks and ranges may come before there is a
/// profile; it then begins in the phase of that moment. A forked child does not inherit the mark.
class OpenRanges {
 public:
  static constexpr std::size_t kMost = 256;     ///< open at a time; one that begins beyond is not told
  static constexpr std::size_t kMaxName = 256;  ///< bytes of a name, the end included; longer ones are cut

  using Begin = void (*)(std::uint64_t id, const char* name);
  using End = void (*)(std::uint64_t id);

  /// Place it in static storage.
  constexpr OpenRanges() = default;
  OpenRanges(const OpenRanges&) = delete;
  OpenRanges& operator=(const OpenRanges&) = delete;

  /// From now on phases are told there, the present one at once.
  void attach(ProfileWriter& writer);
  void mark(const char* name);
  void begin(std::uint64_t id, const char* name);
  /// Nothing happens when no such range is open.
  void end(std::uint64_t id);

  /// From now on another recorder of this process is told of ranges too, of the open ones at once. It must be
  /// told of them by nobody else.
  void lead(Begin begin, End end);

 private:
  struct Range {
    std::uint64_t id;
    char name[kMaxName];
  };
  void tell();
  static void follow_forks();
  static void begin_anew_in_child();

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  ProfileWriter* writer_ = nullptr;
  Begin begin_other_ = nullptr;
  End end_other_ = nullptr;
  std::size_t count_ = 0;
  Range ranges_[kMost] = {};
  char mark_[kMaxName] = {};
};

/// This recorder's.
OpenRanges& open_ranges();

}  // namespace peakmark
