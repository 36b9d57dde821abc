#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace peakmark {

/// Returns the process of the file name NAME.<pid> or NAME.<pid>.2; null for any other name.
std::optional<std::int64_t> process_in_name(std::string_view file, std::string_view name);

/// Returns the profiles of further processes next to the profile `name`, sorted: NAME.<pid>, and NAME.<pid>.2
/// if one process wrote several (it executed another program, or has both recorders). Leaves out files that
/// are not profiles, and profiles whose process does not match their name: they are other recordings.
std::vector<std::filesystem::path> profiles_beside(const std::filesystem::path& name);

/// Returns the profile of a program itself among those of profiles_beside(): that of its process. If it has
/// none (a shell, or an unknown process, 0), returns the profile of the process that started first among
/// those whose parent has no profile; a child may open the device before its parent. Null if there are no
/// profiles.
std::optional<std::filesystem::path> program_profile(const std::filesystem::path& name, std::int64_t program);

/// Returns the disk space of the profiles of this name, in bytes.
std::uint64_t disk_bytes_beside(const std::filesystem::path& name);

/// Returns the files of this name, sorted, that are empty or begin with zeros instead of a profile's magic: a
/// recorder leaves them if there is no disk space for its header.
std::vector<std::filesystem::path> unwritten_beside(const std::filesystem::path& name);

/// Returns the file next to the profile `name` with the folded events of all its processes (`record
/// --compact`).
std::filesystem::path folded_beside(const std::filesystem::path& name);

/// The first bytes of a file of folded events.
inline constexpr std::string_view kFoldedMagic = "PEAKFOLD";

/// Returns true while a process may write into the profile: its recorder holds a lock on it (flock). Also
/// false if the file system has no locks.
bool is_being_written(const std::filesystem::path& profile);

/// Holds the name of a recording while this object lives: a flock on `NAME.peakmark-lock` next to it, which
/// the system releases if the process dies. Two recordings of one name would remove each other's profiles.
class RecordingName {
 public:
  /// Throws UsageError or IoError, which say what to do, if the name is that of a folder, a pipe or a device,
  /// the folder cannot be written, or another process records into this name. On a file system without locks
  /// it takes the name without one.
  explicit RecordingName(std::filesystem::path name);
  RecordingName(const RecordingName&) = delete;
  RecordingName& operator=(const RecordingName&) = delete;
  ~RecordingName();

  /// Writes a new id of the recording into the lock file, where a recorder of an earlier recording finds it
  /// and records nothing. Returns it, 32 hexadecimal digits, for PEAKMARK_RECORDING; empty if none could be
  /// made.
  [[nodiscard]] std::string write_id() const;

  /// Returns true if its folder has been removed or renamed since, with what was recorded in it.
  [[nodiscard]] bool has_lost_its_folder() const;

 private:
  bool lock();

  std::filesystem::path name_;
  std::filesystem::path lock_file_;
  int folder_ = -1;
  int descriptor_ = -1;
};

/// Throws IoError with the reason why nothing can be recorded under that name (errno), and what to do.
[[noreturn]] void refuse_recording_name(const std::filesystem::path& name, int error);

/// Removes the profiles of an earlier recording of that name, which the caller holds, and the remains of
/// killed recordings of any name in the folder. Throws UsageError, and removes nothing, if the name is that
/// of another file, or a process still writes a profile of that name.
void remove_earlier_recording(const std::filesystem::path& name);

}  // namespace peakmark
