#include "profile/profile_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "profile/profile.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

/// NAME.2026 may as well be another recording, that somebody called so: the header tells.
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

}  // namespace peakmark
