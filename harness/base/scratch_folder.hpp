#pragma once

#include <filesystem>

namespace peakmark {

/// Where the system keeps temporary files ($TMPDIR). IoError where that is no folder.
std::filesystem::path temporary_files_folder();

/// A folder for temporary files, `peakmark-run-XXXXXX` where the system keeps them, gone with this object. A
/// process killed by SIGKILL leaves its folder: the next one made removes it. What tells a folder in use is a
/// lock on it, which the system takes from the dead.
class ScratchFolder {
 public:
  /// IoError where no folder can be made.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace peakmark
