#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
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

// Locks on files in file systems that several machines share. If a lock is not visible to the other machines,
// two processes may write at the same time.

/// Returns the name of a file system that machines share, by its number in statfs(2): `nfs`, `smb`, `lustre`,
/// `gpfs`, …; empty for others, and for those in user space, which may or may not be shared.
std::string shared_file_system_name(std::uint64_t magic);

/// Returns the name of the shared file system that contains `path`, or its folder if it does not exist. Empty
/// for a local or unknown one.
std::string shared_file_system(const std::filesystem::path& path);

/// Returns whether locks work in the file system of this folder: while a new file is locked (fcntl, as SQLite
/// does), a second descriptor must not get the lock. Tests only this machine. Returns true if no file can be
/// created there.
bool locks_exclude(const std::filesystem::path& folder);

}  // namespace peakmark
