#pragma once

#include <filesystem>
#include <string>

namespace peakmark {

/// The name of a recording, taken for as long as this object lives: a flock on `NAME.peakmark-lock` beside
/// it, which ends with the process and goes with this object. Two recordings of one name at a time would
/// remove each other's profiles.
class RecordingName {
 public:
  /// UsageError, or IoError, that says what to do where the name is that of a folder, a pipe or a device, the
  /// folder cannot be written, or another process records into this name. On a file system without locks the
  /// name is taken without one.
  explicit RecordingName(std::filesystem::path name);
  RecordingName(const RecordingName&) = delete;
  RecordingName& operator=(const RecordingName&) = delete;
  ~RecordingName();

  /// Writes a new id of a recording into the lock file, where a recorder that came up for another one finds
  /// it and records nothing. Returns it, 32 hexadecimal digits, for PEAKMARK_RECORDING; empty where none
  /// could be made.
  [[nodiscard]] std::string write_id() const;

  /// Its folder has been removed or renamed since, and what was recorded in it went with it.
  [[nodiscard]] bool has_lost_its_folder() const;

 private:
  bool lock();

  std::filesystem::path name_;
  std::filesystem::path lock_file_;
  int folder_ = -1;
  int descriptor_ = -1;
};

/// Throws IoError: why nothing can be recorded under that name (errno), and what to do.
[[noreturn]] void refuse_recording_name(const std::filesystem::path& name, int error);

/// Clears the way for a new recording of that name, which is taken: removes the profiles of an earlier one,
/// and what recordings that were killed have left in the folder, of other names too. Throws UsageError, and
/// removes nothing, where the name is that of another file, or a process still writes a profile of that name.
void remove_earlier_recording(const std::filesystem::path& name);

}  // namespace peakmark
