#include "record/profile/profile_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "record/profile/profile.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

/// NAME.2026 may be a separate recording with that name, so the header decides, which has the process.
bool is_profile_of(const fs::path& path, std::int64_t process) {
  try {
    return ProfileReader(path).header().pid == process;
  } catch (const UsageError&) {
    return false;
  } catch (const IoError&) {
    return false;
  }
}

bool is_unwritten(const fs::path& path, std::int64_t /*process*/) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  std::array<char, sizeof(ProfileHeader::magic)> start{};
  file.read(start.data(), start.size());
  return file.gcount() == 0 || (file && std::ranges::all_of(start, [](char sign) { return sign == 0; }));
}

std::vector<fs::path> files_beside(const fs::path& name,
                                   bool is_wanted(const fs::path&, std::int64_t process)) {
  const std::string stem = name.filename().string();
  const fs::path folder = name.has_parent_path() ? name.parent_path() : fs::path(".");
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    const auto process = process_in_name(file, stem);
    if (process && is_wanted(entry.path(), *process)) {
      found.push_back(name.has_parent_path() ? entry.path() : entry.path().filename());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

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

/// NAME.error.<process id>
bool is_error_file_of(std::string_view file, const std::string& stem) {
  const std::string head = stem + ".error.";
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
    if (is_error_file_of(file.filename().string(), name.filename().string())) fs::remove(file, ignored);
  }
}

/// Removes the lock files that killed recordings with other names have left in the folder.
void remove_stale_locks(const fs::path& own) {
  for (const fs::path& file : files_in(folder_of(own))) {
    const std::string path = file.string();
    if (!path.ends_with(kRecordingLockEnding)) continue;
    const fs::path name = path.substr(0, path.size() - std::strlen(kRecordingLockEnding));
    std::error_code error;
    // A new recording creates its lock file before it takes the lock, so recent files are kept.
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(file, error);
    if (error || age < std::chrono::minutes(1) || name.filename() == own.filename()) continue;
    try {
      const RecordingName stale(name);
      remove_error_file(name);
    } catch (const UsageError&) {
      // A recording holds it.
    } catch (const IoError&) {
      // This user may not remove it.
    }
  }
}

}  // namespace

std::optional<std::int64_t> process_in_name(std::string_view file, std::string_view name) {
  if (!file.starts_with(name)) return std::nullopt;
  std::string_view text = file.substr(name.size());
  std::optional<std::int64_t> process;
  int numbers = 0;
  while (!text.empty()) {
    if (text.front() != '.') return std::nullopt;
    text.remove_prefix(1);
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    std::int64_t number = 0;
    if (std::from_chars(text.data(), text.data() + digits, number).ec != std::errc()) return std::nullopt;
    if (!process) process = number;
    text.remove_prefix(digits);
    ++numbers;
  }
  return numbers == 1 || numbers == 2 ? process : std::nullopt;
}

std::vector<fs::path> profiles_beside(const fs::path& name) {
  return files_beside(name, is_profile_of);
}

std::optional<std::filesystem::path> program_profile(const std::filesystem::path& name,
                                                     std::int64_t program) {
  struct Started {
    std::filesystem::path file;
    ProfileHeader header;
  };
  std::vector<Started> all;
  std::filesystem::path own = name.string() + "." + std::to_string(program);
  for (std::filesystem::path& file : profiles_beside(name)) {
    if (file == own) return own;
    const ProfileHeader header = ProfileReader(file).header();
    all.push_back({std::move(file), header});
  }
  if (all.empty()) return std::nullopt;
  const auto has_parent = [&](const Started& one) {
    return std::ranges::any_of(all, [&](const Started& other) {
      return other.header.pid == one.header.parent_pid && other.header.pid != one.header.pid;
    });
  };
  return std::ranges::min_element(
             all, {},
             [&](const Started& one) { return std::pair(has_parent(one), one.header.start_monotonic_ns); })
      ->file;
}

std::uint64_t disk_bytes_beside(const fs::path& name) {
  std::uint64_t bytes = 0;
  for (const fs::path& file : files_beside(name, [](const fs::path&, std::int64_t) { return true; })) {
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0) bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

fs::path folded_beside(const fs::path& name) {
  return name.string() + ".folded";
}

bool is_being_written(const fs::path& profile) {
  const int file = ::open(profile.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_locked = ::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(file);
  return is_locked;
}

std::vector<fs::path> unwritten_beside(const fs::path& name) {
  return files_beside(name, is_unwritten);
}

void refuse_recording_name(const fs::path& name, int error) {
  const char* const what_to_do = error == ENAMETOOLONG ? "name a shorter one with -o"
                                 : error == ENOSPC || error == EDQUOT
                                     ? "free space there, or write elsewhere with -o"
                                     : "name a file elsewhere with -o";
  throw io_error(short_name(name), "cannot be written", error, what_to_do);
}

RecordingName::RecordingName(fs::path name)
    : name_(std::move(name)), lock_file_(name_.string() + kRecordingLockEnding) {
  check_replaceable(name_);
  while (!lock()) continue;
  folder_ = ::open(folder_of(name_).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/// Returns false if the previous lock holder has removed the file between our open() and our flock().
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
  // The folder may have been renamed since, so the file is removed through the descriptor.
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
  // Without the id in the file, recorders of an earlier recording cannot be recognised.
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
        fmt::format("{}: exists and is not a file of peakmark, so `record` does not overwrite it; name "
                    "another file with -o",
                    short_name(folded)));
  }
  if (fs::exists(name)) {
    ProfileReader reader(name);  // throws if it is not a profile
    static_cast<void>(reader);
    files.push_back(name);
  }
  for (const fs::path& file : files) {
    if (!is_being_written(file)) continue;
    throw UsageError(
        fmt::format("{}: process {} of an earlier recording still writes {}; wait for it, end it, or name "
                    "another file with -o",
                    short_name(name), ProfileReader(file).header().pid, short_name(file)));
  }
  // The profiles are removed first, because without the folded file they would be incomplete.
  for (const fs::path& file : files) fs::remove(file);
  fs::remove(folded);
  remove_error_file(name);
  remove_stale_locks(name);
}

}  // namespace peakmark
