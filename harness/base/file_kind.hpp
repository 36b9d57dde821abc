#pragma once

#include <filesystem>
#include <string_view>

namespace peakmark {

/// What stands at a path where no file does: `a folder`, `a pipe`, `a device`, `a socket`. Empty for a file,
/// for a link to one, and where nothing is. To be asked before something is opened to be read: a pipe that
/// nobody writes into, or a terminal, would hold whoever opens it for ever.
std::string_view kind_of_other_than_file(const std::filesystem::path& path);

/// UsageError unless `path` names a file that is there, or may be put there: not a folder, and no device or
/// pipe, which a rename would take away.
void check_replaceable(const std::filesystem::path& path);

/// A file that was created, open for writing. The descriptor is its owner's to close, after the file has been
/// renamed or removed: the file is locked (flock) while it is open. −1: `error` says why.
struct NewFile {
  std::filesystem::path path;
  int descriptor = -1;
  int error = 0;
};

/// Creates `PATH.new-` and 16 random digits, as the umask says. Nobody can have put a file or a link there.
/// Removes those of earlier processes that were killed: files of this name whose lock is free.
NewFile create_file_beside(const std::filesystem::path& path);

/// The open file is the one that the path names now: nobody has removed or replaced it meanwhile.
bool is_still_at(const std::filesystem::path& path, int descriptor);

}  // namespace peakmark
