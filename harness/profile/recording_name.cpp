#include "profile/recording_name.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "profile/profile.hpp"
#include "profile/profile_files.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxOfANameInAMessage = 120;

std::string short_name(const fs::path& name) {
  const std::string text = name.string();
  return text.size() <= kMaxOfANameInAMessage ? text : text.substr(0, kMaxOfANameInAMessage) + "…";
}

bool has_no_locks(int error) {
  return error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL;
}

fs::path folder_of(const fs::path& name) {
  return name.has_parent_path() ? name.parent_path() : fs::path(".");
}

/// NAME.trouble.<process id>
bool is_trouble_of(std::string_view file, const std::string& stem) {
  const std::string head = stem + ".trouble.";
  return file.starts_with(head) && file.size() > head.size() &&
         file.find_first_not_of("0123456789", head.size()) == std::string_view::npos;
}

bool is_folded_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string start(kFoldedMagic.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return file && start == kFoldedMagic;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    files.push_back(entry->path());
  return files;
}

void remove_error_file(const fs::path& name) {
  for (const fs::path& file : files_in(folder_of(name))) {
    std::error_code ignored;
    if (is_trouble_of(file.filename().string(), name.filename().string())) fs::remove(file, ignored);
  }
}

/// What killed recordings of other names have left in the folder.
void remove_stale_locks(const fs::path& own) {
  for (const fs::path& file : files_in(folder_of(own))) {
    const std::string path = file.string();
    if (!path.ends_with(kRecordingLockEnding)) continue;
    const fs::path name = path.substr(0, path.size() - std::strlen(kRecordingLockEnding));
    std::error_code error;
    // A recording that begins has its lock file before it has its lock.
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(file, error);
    if (error || age < std::chrono::minutes(1) || name.filename() == own.filename()) continue;
    try {
      const RecordingName stale(name);
      remove_error_file(name);
    } catch (const UsageError&) {
      // A recording holds it.
    } catch (const IoError&) {
      // It is not ours to tidy up.
    }
  }
}

}  // namespace

void refuse_recording_name(const fs::path& name, int error) {
  const char* const what_to_do = error == ENAMETOOLONG ? "name a shorter one with -o"
                                 : error == ENOSPC || error == EDQUOT
                                     ? "make room there, or name a file elsewhere with -o"
                                     : "name a file elsewhere with -o";
  throw io_error(short_name(name), "cannot be written", error, what_to_do);
}

RecordingName::RecordingName(fs::path name)
    : name_(std::move(name)), lock_file_(name_.string() + kRecordingLockEnding) {
  check_replaceable(name_);
  while (!lock()) {
  }
  folder_ = ::open(folder_of(name_).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/// False when whoever held the lock before has removed the file between our open and our lock.
bool RecordingName::lock() {
  descriptor_ = ::open(lock_file_.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) refuse_recording_name(name_, errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (has_no_locks(error)) return true;
    ::close(descriptor_);
    if (error == EINTR) return false;
    if (error != EWOULDBLOCK) refuse_recording_name(name_, error);
    throw UsageError(
        fmt::format("{}: another peakmark records into it; wait for it, or name another file with -o",
                    short_name(name_)));
  }
  if (is_still_at(lock_file_, descriptor_)) return true;
  ::close(descriptor_);
  return false;
}

RecordingName::~RecordingName() {
  // In the folder where it was made, wherever that is now.
  if (folder_ >= 0) {
    ::unlinkat(folder_, lock_file_.filename().c_str(), 0);
    ::close(folder_);
  } else {
    ::unlink(lock_file_.c_str());
  }
  ::close(descriptor_);
}

std::string RecordingName::write_id() const {
  std::array<unsigned char, sizeof(ProfileHeader::recording)> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return "";
  std::string id;
  for (const unsigned char byte : bytes) id += fmt::format("{:02x}", byte);
  // Nothing keeps a recorder from another recording where the file cannot be written.
  const int file = ::open(lock_file_.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return id;
  [[maybe_unused]] const ssize_t written = ::pwrite(file, id.data(), id.size(), 0);
  ::close(file);
  return id;
}

bool RecordingName::has_lost_its_folder() const {
  return folder_ >= 0 && !is_still_at(folder_of(name_), folder_);
}

void remove_earlier_recording(const fs::path& name) {
  std::vector<fs::path> files = profiles_beside(name);
  const fs::path folded = folded_beside(name);
  if (fs::exists(folded) && !is_folded_file(folded)) {
    throw UsageError(
        fmt::format("{}: is no file of peakmark, and `record` may have to write it; name another "
                    "file with -o",
                    short_name(folded)));
  }
  if (fs::exists(name)) {
    const ProfileReader only_a_profile_is_overwritten(name);
    files.push_back(name);
  }
  for (const fs::path& file : files) {
    if (!is_being_written(file)) continue;
    throw UsageError(
        fmt::format("{}: process {} of an earlier recording still writes {}; wait for it, end it, or name "
                    "another file with "
                    "-o",
                    short_name(name), ProfileReader(file).header().pid, short_name(file)));
  }
  // The profiles first: without it they say that events are missing.
  for (const fs::path& file : files) fs::remove(file);
  fs::remove(folded);
  remove_error_file(name);
  remove_stale_locks(name);
}

}  // namespace peakmark
