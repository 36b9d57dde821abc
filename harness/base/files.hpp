#pragma once

#include <filesystem>
#include <string_view>

#include "base/descriptor.hpp"

namespace peakmark {

/// Returns `a folder`, `a pipe`, `a device` or `a socket` if `path` is one; an empty text for a file, a link
/// to a file, or nothing. Check this before reading: opening a pipe without a writer, or a terminal, would
/// block forever.
std::string_view non_file_kind(const std::filesystem::path& path);

/// Throws UsageError unless `path` is a file or could become one. A folder, device or pipe must not be
/// replaced by rename().
void check_replaceable(const std::filesystem::path& path);

/// A new file, open for writing and locked (flock) while it is open: keep it open until the file was renamed
/// or removed. Without a descriptor, creating it failed with errno `error`.
struct NewFile {
  std::filesystem::path path;
  Descriptor descriptor{-1};
  int error = 0;
};

/// Creates `PATH.new-` with 16 random digits, with the permissions of the umask. O_EXCL ensures that no other
/// file or link is at this path. Removes such files of killed processes, whose lock is free.
NewFile create_file_beside(const std::filesystem::path& path);

/// Returns whether `path` still names the open file, which was neither removed nor replaced.
bool is_still_at(const std::filesystem::path& path, int descriptor);

/// Returns the system's folder for temporary files ($TMPDIR). Throws IoError if it is not a folder.
std::filesystem::path temporary_files_folder();

/// A temporary folder `peakmark-run-XXXXXX`. The destructor removes it. A process killed by SIGKILL leaves
/// its folder; the next ScratchFolder removes it. A lock, which the kernel releases at exit, marks folders in
/// use.
class ScratchFolder {
 public:
  /// Throws IoError if the folder cannot be created.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor lock_{-1};
};

}  // namespace peakmark
