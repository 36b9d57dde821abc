#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "profile/event.hpp"

namespace peakmark {

/// The first page of a profile. What stands after the text of `command_line` is zero.
struct ProfileHeader {
  static constexpr char kMagic[8] = {'P', 'E', 'A', 'K', 'M', 'A', 'R', 'K'};
  static constexpr std::uint32_t kVersion = 1;  ///< MAJOR
  static constexpr std::uint32_t kMinor = 2;
  static constexpr std::uint32_t kBytes = 4096;

  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;  ///< events start here
  std::int32_t pid;
  std::int32_t parent_pid;
  std::int64_t start_monotonic_ns;
  std::int64_t start_realtime_ns;
  std::uint64_t closed;     ///< 1 when the recorder closed the file; 0 while it runs or was killed
  std::uint64_t end;        ///< slots when it was closed
  std::uint64_t lost;       ///< slots that came after the recorder had to stop (`stop_error`)
  char recorder[56];        ///< `opencl-layer 1`, `cupti 130001`
  std::uint32_t minor;      ///< 0: there was no `stop_error` yet; below 2 no `recording`
  std::int32_t stop_error;  ///< errno that stopped the recorder before its program ended; 0: none did
  char command_line[3944];  ///< arguments separated by NUL, cut short where they do not fit
  /// The id of the recording (RecordingName), the same in all its processes; zeros: not started by `record`.
  unsigned char recording[16];
  /// When the recorder closed the file or, where it could not, `record` saw its process end. 0: unknown,
  /// since nobody saw it. (Before there was this field a very long command line had these bytes: then it is
  /// centuries away.)
  std::int64_t end_monotonic_ns;
};
static_assert(sizeof(ProfileHeader) == ProfileHeader::kBytes);

/// The lock file of a recording is its name with this ending; the id of the recording is in it.
inline constexpr const char* kRecordingLockEnding = ".peakmark-lock";

/// Events in the order of their slots, owned together by whoever has a copy: of a whole profile, mapped from
/// its file, or made by hand.
class EventBlock {
 public:
  EventBlock() = default;
  EventBlock(std::vector<Event> events);  // NOLINT(google-explicit-constructor): a block of these
  /// `events` lie in what `owner` keeps.
  EventBlock(std::shared_ptr<const void> owner, std::span<const Event> events)
      : owner_(std::move(owner)), events_(events) {}

  operator std::span<const Event>() const { return events_; }  // NOLINT(google-explicit-constructor)
  const Event& operator[](std::size_t index) const { return events_[index]; }
  [[nodiscard]] std::size_t size() const { return events_.size(); }
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] const Event& front() const { return events_.front(); }
  [[nodiscard]] const Event& back() const { return events_.back(); }
  [[nodiscard]] auto begin() const { return events_.begin(); }
  [[nodiscard]] auto end() const { return events_.end(); }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const Event> events_;
};

/// Reads a profile, also one that is being written or whose program was killed: every committed event is
/// seen. What may still grow is read with pread, not through a mapping: a recorder that trims its file at
/// that moment would take pages away under the reader. Throws UsageError when the file is no profile, or one
/// of another version.
class ProfileReader {
 public:
  explicit ProfileReader(const std::filesystem::path& path);
  ~ProfileReader();
  ProfileReader(ProfileReader&&) noexcept;
  ProfileReader& operator=(ProfileReader&&) noexcept;

  /// Leaves the first slots out: their events were folded (`record --compact`) and are in another file.
  void skip(std::uint64_t slots);

  /// As of the last call of `events`, or of the opening.
  [[nodiscard]] const ProfileHeader& header() const;
  /// Arguments of the program.
  [[nodiscard]] std::vector<std::string> command_line() const;
  /// True when the recorder closed the file and no event is missing. Reads the whole file once, unless
  /// all_events() has.
  [[nodiscard]] bool complete();
  /// True when the file ends before the last event that the recorder closed it with: a copy broken off.
  [[nodiscard]] bool cut_short() const;
  /// Returns how many slots are missing: those that came after the recorder had to stop, and those before the
  /// end in which no event is (a hole: a part of the file was zeroed or cut off, or a thread died while it
  /// wrote). The end is the one that the recorder closed the file with, or else the last event. Reads the
  /// whole file, unless it is closed and was read.
  [[nodiscard]] std::uint64_t lost_events();
  /// The committed events from slot `first` on (and before slot `last`), as of now. Slots reserved but not
  /// committed (the program was killed in between, or another thread is writing) are left out. Calling it
  /// again sees what has come since.
  [[nodiscard]] std::vector<Event> events(std::uint64_t first = 0, std::uint64_t last = UINT64_MAX);
  /// Returns the events of the slots [first, last), which the recorder of this process has given out: waits
  /// for threads that are still writing theirs. Throws RecorderError, with the reason, where events are lost.
  [[nodiscard]] std::vector<Event> events_given_out(std::uint64_t first, std::uint64_t last);
  /// All of them. Those of a closed profile are not copied but mapped, which takes neither time nor memory:
  /// it changes no more.
  [[nodiscard]] EventBlock all_events();

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace peakmark
