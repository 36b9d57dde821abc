#include "record/recording_name.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "record/profile.hpp"
#include "record/profile_files.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOfANameInAMessage = 120;

std::string short_name(const fs::path& name) {
  const std::string text = name.string();
  return text.size() <= kMostOfANameInAMessage ? text : text.substr(0, kMostOfANameInAMessage) + "…";
}

[[noreturn]] void cannot_be_written(const fs::path& name, int error) {
  const char* const what_to_do = error == ENAMETOOLONG ? "name a shorter one with -o"
                                 : error == ENOSPC || error == EDQUOT
                                     ? "make room there, or name a file elsewhere with -o"
                                     : "name a file elsewhere with -o";
  throw UsageError(
      fmt::format("{}: cannot be written: {}; {}", short_name(name), std::strerror(error), what_to_do));
}

bool has_no_locks(int error) {
  return error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL;
}

/// `descriptor` is the file that the path names now.
bool is_still_there(const fs::path& path, int descriptor) {
  struct stat held {
  }, named{};
  return ::fstat(descriptor, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

/// NAME.trouble.<process id>
bool is_trouble_of(std::string_view file, const std::string& stem) {
  const std::string head = stem + ".trouble.";
  return file.starts_with(head) && file.size() > head.size() &&
         file.find_first_not_of("0123456789", head.size()) == std::string_view::npos;
}

}  // namespace

RecordingName::RecordingName(fs::path name)
    : name_(std::move(name)), lock_file_(name_.string() + ".peakmark-lock") {
  while (!lock()) {
  }
}

/// False when whoever held the lock before has removed the file between our open and our lock.
bool RecordingName::lock() {
  descriptor_ = ::open(lock_file_.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) cannot_be_written(name_, errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (has_no_locks(error)) return true;
    ::close(descriptor_);
    if (error == EINTR) return false;
    if (error != EWOULDBLOCK) cannot_be_written(name_, error);
    throw UsageError(
        fmt::format("{}: another peakmark records into it; wait for it, or name another file with -o",
                    short_name(name_)));
  }
  if (is_still_there(lock_file_, descriptor_)) return true;
  ::close(descriptor_);
  return false;
}

RecordingName::~RecordingName() {
  ::unlink(lock_file_.c_str());
  ::close(descriptor_);
}

TroubleFile::TroubleFile(const fs::path& name)
    : path_(fmt::format("{}.trouble.{}", name.string(), ::getpid())) {
  errno = 0;
  if (!std::ofstream(path_)) cannot_be_written(name, errno);
}

TroubleFile::~TroubleFile() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

std::string TroubleFile::first_line() const {
  std::string line;
  std::ifstream file(path_);
  std::getline(file, line);
  return line;
}

void remove_earlier_recording(const fs::path& name) {
  if (fs::exists(name)) {
    const ProfileReader only_a_profile_is_overwritten(name);
    fs::remove(name);
  }
  for (const fs::path& file : profiles_beside(name)) fs::remove(file);
  std::error_code error;
  for (fs::directory_iterator entry(name.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (is_trouble_of(entry->path().filename().string(), name.filename().string()))
      fs::remove(entry->path(), ignored);
  }
}

}  // namespace peakmark
