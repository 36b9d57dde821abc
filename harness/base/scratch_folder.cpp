#include "base/scratch_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/descriptor.hpp"
#include "base/error.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "peakmark-run-";

int open_folder(const fs::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/// The folder at `path` is the one opened: nobody has removed it meanwhile.
bool is_still_there(const fs::path& path, int folder) {
  struct stat held {
  }, named{};
  return ::fstat(folder, &held) == 0 && ::lstat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

void remove_if_abandoned(const fs::path& path) {
  const Descriptor folder(open_folder(path));
  struct stat status {};
  // Another user's is another user's to remove.
  if (folder.get() < 0 || ::fstat(folder.get(), &status) != 0 || status.st_uid != ::geteuid()) return;
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return;
  std::error_code ignored;
  if (is_still_there(path, folder.get())) fs::remove_all(path, ignored);
}

void remove_abandoned_folder(const fs::path& where) {
  std::error_code error;
  for (fs::directory_iterator entry(where, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with(kPrefix)) remove_if_abandoned(entry->path());
  }
}

}  // namespace

fs::path temporary_files_folder() {
  std::error_code error;
  fs::path where = fs::temp_directory_path(error);
  if (!error) return where;
  const char* const named = std::getenv("TMPDIR");
  throw io_error(std::string(named == nullptr ? "/tmp" : "TMPDIR=") + (named == nullptr ? "" : named),
                 "is no folder for temporary files", error.value(), "TMPDIR names another");
}

ScratchFolder::ScratchFolder() {
  const fs::path where = temporary_files_folder();
  remove_abandoned_folder(where);
  for (;;) {
    std::string pattern = where / (std::string(kPrefix) + "XXXXXX");
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw io_error(where, "no folder for profiles", errno, "TMPDIR names another place");
    }
    const Descriptor folder(open_folder(pattern));
    if (folder.get() < 0) {
      if (errno == ENOENT) continue;  // it was tidied up already
      throw io_error(pattern, "cannot be opened", errno);
    }
    int locked = 0;
    do locked = ::flock(folder.get(), LOCK_EX);
    while (locked != 0 && errno == EINTR);
    // One that is tidying up may have found it before it was locked: then another is made. Where the file
    // system has no locks nobody tidies up either.
    if (locked == 0 && !is_still_there(pattern, folder.get())) continue;
    lock_ = ::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0);  // of the same lock
    path_ = pattern;
    return;
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace peakmark
