#include "base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "base/descriptor.hpp"
#include "base/error.hpp"

namespace peakmark {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kNewFile = ".new-";

bool is_new_file_of(const fs::path& path, const std::string& name) {
  constexpr std::size_t kDigits = 16;
  const std::string prefix = path.filename().string() + std::string(kNewFile);
  return name.size() == prefix.size() + kDigits && name.starts_with(prefix) &&
         std::ranges::all_of(name.substr(prefix.size()), [](char one) {
           return (one >= '0' && one <= '9') || (one >= 'a' && one <= 'f');
         });
}

/// Locks a file or folder that a killed process may have left. Returns whether `path` is abandoned: it has
/// this type and belongs to this user, and no process holds its lock.
bool lock_abandoned(const fs::path& path, const Descriptor& opened, mode_t type) {
  struct stat status {};
  return opened.get() >= 0 && ::fstat(opened.get(), &status) == 0 && (status.st_mode & S_IFMT) == type &&
         status.st_uid == ::geteuid() && ::flock(opened.get(), LOCK_EX | LOCK_NB) == 0 &&
         is_still_at(path, opened.get());
}

void remove_abandoned_file(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (lock_abandoned(path, file, S_IFREG)) ::unlink(path.c_str());
}

void remove_abandoned_beside(const fs::path& path) {
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator one(folder, error), end; !error && one != end; one.increment(error)) {
    if (is_new_file_of(path, one->path().filename().string())) remove_abandoned_file(one->path());
  }
}

}  // namespace

std::string_view non_file_kind(const fs::path& path) {
  std::error_code error;
  switch (fs::status(path, error).type()) {
    case fs::file_type::directory:
      return "a folder";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    case fs::file_type::socket:
      return "a socket";
    default:
      return "";
  }
}

NewFile create_file_beside(const std::filesystem::path& path) {
  remove_abandoned_beside(path);
  std::random_device random;
  NewFile file;
  for (int attempt = 0; attempt < 100; ++attempt) {
    file.path = fmt::format("{}{}{:08x}{:08x}", path.string(), kNewFile, random(), random());
    file.descriptor =
        Descriptor(::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    file.error = file.descriptor.get() < 0 ? errno : 0;
    if (file.error == EEXIST) continue;
    if (file.descriptor.get() < 0) break;
    // If the file system has no locks, nothing is removed either.
    ::flock(file.descriptor.get(), LOCK_EX);
    if (is_still_at(file.path, file.descriptor.get())) break;
    file.descriptor.close();  // removed by another process before it was locked
    file.error = ENOENT;
  }
  return file;
}

bool is_still_at(const fs::path& path, int descriptor) {
  struct stat held {
  }, named{};
  return ::fstat(descriptor, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

void check_replaceable(const fs::path& path) {
  const std::string_view kind = non_file_kind(path);
  if (kind == "a folder" || !path.has_filename()) {
    throw UsageError(path.string() + ": is a folder; name a file in it");
  }
  if (!kind.empty()) {
    throw UsageError(path.string() + ": is " + std::string(kind) +
                     ", not a file that can be replaced; name a file");
  }
}

namespace {

constexpr const char* kPrefix = "peakmark-run-";

int open_folder(const fs::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void remove_abandoned_folders(const fs::path& where) {
  std::error_code error;
  for (fs::directory_iterator entry(where, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(kPrefix)) continue;
    const Descriptor folder(open_folder(entry->path()));
    std::error_code ignored;
    if (lock_abandoned(entry->path(), folder, S_IFDIR)) fs::remove_all(entry->path(), ignored);
  }
}

}  // namespace

fs::path temporary_files_folder() {
  std::error_code error;
  fs::path where = fs::temp_directory_path(error);
  if (!error) return where;
  const char* const named = std::getenv("TMPDIR");
  throw io_error(std::string(named == nullptr ? "/tmp" : "TMPDIR=") + (named == nullptr ? "" : named),
                 "is not a folder for temporary files", error.value(), "set TMPDIR to another");
}

ScratchFolder::ScratchFolder() {
  const fs::path where = temporary_files_folder();
  remove_abandoned_folders(where);
  for (;;) {
    std::string pattern = where / (std::string(kPrefix) + "XXXXXX");
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw io_error(where, "cannot create a folder for profiles", errno, "set TMPDIR to another");
    }
    Descriptor folder(open_folder(pattern));
    if (folder.get() < 0) {
      if (errno == ENOENT) continue;  // another process has removed it already
      throw io_error(pattern, "cannot be opened", errno);
    }
    int locked = 0;
    do locked = ::flock(folder.get(), LOCK_EX);
    while (locked != 0 && errno == EINTR);
    // Another process may have removed it before it was locked: try again. If the file system has no locks,
    // nothing is removed either.
    if (locked == 0 && !is_still_at(pattern, folder.get())) continue;
    lock_ = std::move(folder);
    path_ = pattern;
    return;
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);  // before its lock is free
}

namespace {

// From <linux/magic.h>, and for file systems outside the kernel from the manual page of statfs(2) and their
// sources.
constexpr std::array<std::pair<std::uint64_t, const char*>, 9> kSharedFileSystems{{
    {0x6969, "nfs"},
    {0x517B, "smb"},
    {0xFF534D42, "smb"},
    {0xFE534D42, "smb"},
    {0x0BD00BD0, "lustre"},
    {0x47504653, "gpfs"},
    {0x00C36400, "ceph"},
    {0x19830326, "beegfs"},
    {0x5346414F, "afs"},
}};

/// Tries to take a lock that belongs to the descriptor, not to the process.
bool try_lock(int descriptor) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_OFD_SETLK, &lock) == 0;
}

}  // namespace

std::string shared_file_system_name(std::uint64_t magic) {
  for (const auto& [number, name] : kSharedFileSystems) {
    if (number == magic) return name;
  }
  return "";
}

std::string shared_file_system(const std::filesystem::path& path) {
  std::error_code none;
  const std::filesystem::path whole = std::filesystem::absolute(path, none);
  for (const std::filesystem::path& place : {whole, whole.parent_path()}) {
    struct statfs status {};
    if (::statfs(place.c_str(), &status) != 0) continue;
    // Some numbers have the highest bit set, and the field is signed.
    return shared_file_system_name(static_cast<std::uint32_t>(status.f_type));
  }
  return "";
}

bool locks_exclude(const std::filesystem::path& folder) {
  const NewFile file = create_file_beside(folder / "peakmark-locks");
  if (file.descriptor.get() < 0) return true;
  const Descriptor second(::open(file.path.c_str(), O_RDWR | O_CLOEXEC));
  const bool has_first = try_lock(file.descriptor.get());
  const bool has_second = second.get() >= 0 && try_lock(second.get());
  ::unlink(file.path.c_str());
  return has_first && !has_second;
}

}  // namespace peakmark
