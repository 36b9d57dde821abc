#pragma once

#include <filesystem>
#include <string>

namespace peakmark {

/// The name of a recording, taken for as long as this object lives: a flock on `NAME.peakmark-lock` beside
/// it, which ends with the process and goes with this object. Two recordings of one name at a time would
/// remove each other's profiles.
class RecordingName {
 public:
  /// UsageError that says what to do where the folder cannot be written, or another process records into this
  /// name. On a file system without locks the name is taken without one.
  explicit RecordingName(std::filesystem::path name);
  RecordingName(const RecordingName&) = delete;
  RecordingName& operator=(const RecordingName&) = delete;
  ~RecordingName();

 private:
  bool lock();

  std::filesystem::path name_;
  std::filesystem::path lock_file_;
  int descriptor_ = -1;
};

/// The file in which the recorders tell what keeps them from recording everything. It goes with this object.
class TroubleFile {
 public:
  /// UsageError where no file can be written there: the profile could not either.
  explicit TroubleFile(const std::filesystem::path& name);
  TroubleFile(const TroubleFile&) = delete;
  TroubleFile& operator=(const TroubleFile&) = delete;
  ~TroubleFile();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Empty where there is none.
  [[nodiscard]] std::string first_line() const;

 private:
  std::filesystem::path path_;
};

/// Clears the way for a new recording of that name, which is taken: removes the profiles of an earlier one,
/// and what one that was killed has left beside them. UsageError where the name is that of another file.
void remove_earlier_recording(const std::filesystem::path& name);

}  // namespace peakmark
