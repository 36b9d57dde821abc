#include "base/file_kind.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>

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

/// Removes a file that a killed process has left: one of ours whose lock is free.
void remove_abandoned(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat status {};
  const bool is_ours =
      ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
  if (is_ours && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_still_at(file, descriptor)) {
    ::unlink(file.c_str());
  }
  ::close(descriptor);
}

void remove_abandoned_beside(const fs::path& path) {
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator one(folder, error), end; !error && one != end; one.increment(error)) {
    if (is_new_file_of(path, one->path().filename().string())) remove_abandoned(one->path());
  }
}

}  // namespace

std::string_view kind_of_other_than_file(const fs::path& path) {
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
    file.descriptor = ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    file.error = file.descriptor < 0 ? errno : 0;
    if (file.error == EEXIST) continue;
    if (file.descriptor < 0) break;
    // On a file system without locks nothing is removed either.
    ::flock(file.descriptor, LOCK_EX);
    if (is_still_at(file.path, file.descriptor)) break;
    ::close(file.descriptor);  // removed by another process before it was locked
    file.descriptor = -1;
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
  const std::string_view kind = kind_of_other_than_file(path);
  if (kind == "a folder" || !path.has_filename()) {
    throw UsageError(path.string() + ": is a folder; name a file in it");
  }
  if (!kind.empty()) {
    throw UsageError(path.string() + ": is " + std::string(kind) +
                     ", not a file that can be replaced; name a file");
  }
}

}  // namespace peakmark
