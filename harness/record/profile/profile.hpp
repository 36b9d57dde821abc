#pragma once

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/profile/event.hpp"

namespace peakmark {

/// The first page of a profile. The rest of `command_line` after its text is zero.
struct ProfileHeader {
  static constexpr char kMagic[8] = {'P', 'E', 'A', 'K', 'M', 'A', 'R', 'K'};
  static constexpr std::uint32_t kVersion = 1;  ///< MAJOR
  static constexpr std::uint32_t kMinor = 0;
  static constexpr std::uint32_t kBytes = 4096;

  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;  ///< events start here
  std::int32_t pid;
  std::int32_t parent_pid;
  std::int64_t start_monotonic_ns;
  std::int64_t start_realtime_ns;
  std::uint64_t closed;     ///< 1: the recorder closed the file; 0: it still runs, or was killed
  std::uint64_t end;        ///< number of slots when it was closed
  std::uint64_t lost;       ///< events after the recorder had to stop (`stop_error`)
  char recorder[48];        ///< `opencl-layer 1`, `cupti 130001`
  std::int64_t budget;      ///< of each device, in bytes ($PEAKMARK_BUDGET); 0: none
  std::uint32_t minor;      ///< kMinor of the recorder: higher ones only add fields
  std::int32_t stop_error;  ///< errno that stopped the recorder before its program ended; 0: none
  char command_line[3936];  ///< arguments separated by NUL, cut off if they do not fit
  std::uint64_t is_synced;  ///< 1: the recorder finished the queue after each enqueue (`record --sync`)
  /// The id of the recording (RecordingName), the same in all its processes; zero: not started by `record`.
  unsigned char recording[16];
  /// When the recorder closed the file; if it could not, when `record` saw its process end. 0: unknown.
  std::int64_t end_monotonic_ns;
};
static_assert(sizeof(ProfileHeader) == ProfileHeader::kBytes);

/// The largest budget of a device. Recorders keep the bytes of an allocation in 48 bits.
inline constexpr std::int64_t kMaxBudget = (std::int64_t{1} << 48) - 1;

/// Returns the bytes that the program could use of each device; null without a budget.
inline std::optional<std::int64_t> budget_bytes(const ProfileHeader& header) {
  return header.budget > 0 ? std::optional(header.budget) : std::nullopt;
}

/// Returns true if a release is in the profile as soon as the program requests it: queues were finished after
/// each enqueue, or it is from CUDA's recorder, which counts a release when it is requested, even a
/// stream-ordered one.
inline bool releases_at_once(const ProfileHeader& header) {
  return header.is_synced == 1 ||
         std::string_view(header.recorder, sizeof(header.recorder)).starts_with("cupti");
}

/// Returns why a recorder stopped before its program ended, from the error that stopped it
/// (ProfileHeader::stop_error). Allocates nothing: recorders call it too.
inline const char* stop_reason(int error) {
  switch (error) {
    case 0:
      return "the reason is not known";
    case ENOSPC:
    case EDQUOT:
      return "the disk is full";
    case EFBIG:
      return "the limit on file sizes (ulimit -f) is reached";
    case EOVERFLOW:
      return "it has its maximum size (--max-size, at most 64 GiB)";
    case EMFILE:
      return "the program closed its descriptor and has as many files open as it may (ulimit -n)";
    case ENFILE:
      return "the system has as many files open as it can";
    case EACCES:
    case EPERM:
    case EROFS:
      return "the program closed its descriptor, and may not open it again";
    case ENOENT:
    case ENOTDIR:
      return "the program closed its descriptor, and it is not at its path any more";
    case EEXIST:
      return "the program closed its descriptor, and another file has taken its place";
    default:
      return "it cannot be written";
  }
}

/// Returns what the user can do about it.
inline const char* stop_advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free space there, or write elsewhere with -o";
    case EFBIG:
      return "raise the limit on file sizes (ulimit -f)";
    case EMFILE:
      return "raise the limit on open files (ulimit -n)";
    case EOVERFLOW:
      return "raise --max-size, or record a shorter run";
    case ENAMETOOLONG:
      return "name a shorter one with -o";
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case EPERM:
    case EROFS:
      return "name a file elsewhere with -o";
    default:
      return "record it again";
  }
}

/// The lock file of a recording is its name with this ending; the id of the recording is in it.
inline constexpr const char* kRecordingLockEnding = ".peakmark-lock";

/// Events in the order of their slots, with shared ownership: those of a whole profile, mapped from its file,
/// or a vector.
class EventBlock {
 public:
  EventBlock() = default;
  EventBlock(std::vector<Event> events);  // NOLINT(google-explicit-constructor): a block of these
  /// `owner` keeps the memory of `events`.
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

/// Reads the committed events of a profile, even while it is being written or after its program was killed. A
/// file that may still grow is read with pread and not mapped, because its recorder may truncate it at any
/// moment. The constructor throws UsageError if the file is not a profile, or has another version.
class ProfileReader {
 public:
  explicit ProfileReader(const std::filesystem::path& path);
  ~ProfileReader();
  ProfileReader(ProfileReader&&) noexcept;
  ProfileReader& operator=(ProfileReader&&) noexcept;

  /// Skips the first slots, whose events are in another file while `record --compact` runs.
  void skip(std::uint64_t slots);

  [[nodiscard]] const std::filesystem::path& path() const;
  /// Returns the header as of the last call of `events` or `read_header`, or of the constructor.
  [[nodiscard]] const ProfileHeader& header() const;
  /// Reads the header again.
  const ProfileHeader& read_header();
  /// Returns the arguments of the program.
  [[nodiscard]] std::vector<std::string> command_line() const;
  /// Returns true if the recorder closed the file and no event is missing. Reads the whole file once, unless
  /// all_events() has.
  [[nodiscard]] bool complete();
  /// Returns true if the file ends before the last event that it was closed with: an incomplete copy.
  [[nodiscard]] bool cut_short() const;
  /// Returns the number of missing events: those after the recorder had to stop, and holes before the end (a
  /// part of the file was zeroed or cut off, or a thread died while it wrote). The end is the one that the
  /// file was closed with, otherwise the last event. Reads the whole file, unless it is closed and was read.
  [[nodiscard]] std::uint64_t lost_events();
  /// Returns the events committed by now in the slots [first, last). Slots that are reserved and not
  /// committed (the program was killed, or another thread is writing) are left out. A later call sees later
  /// events.
  [[nodiscard]] std::vector<Event> events(std::uint64_t first = 0, std::uint64_t last = UINT64_MAX);
  /// Returns the events of the slots [first, last), which the recorder of this process has reserved: waits up
  /// to 10 s for threads that are still writing. Throws RecorderError, with the reason, if events are lost.
  [[nodiscard]] std::vector<Event> events_given_out(std::uint64_t first, std::uint64_t last);
  /// Returns all events. Those of a closed profile, which no longer changes, are mapped and not copied.
  [[nodiscard]] EventBlock all_events();

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace peakmark
