#include "record/profile_files.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "record/profile.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

/// `.123` or `.123.2`
bool is_process_suffix(std::string_view text) {
  int numbers = 0;
  while (!text.empty()) {
    if (text.front() != '.') return false;
    text.remove_prefix(1);
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0) return false;
    text.remove_prefix(digits);
    ++numbers;
  }
  return numbers == 1 || numbers == 2;
}

bool is_profile(const fs::path& path) {
  try {
    const ProfileReader reader(path);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

bool is_unwritten(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  std::array<char, sizeof(ProfileHeader::magic)> start{};
  file.read(start.data(), start.size());
  return file.gcount() == 0 || (file && std::ranges::all_of(start, [](char sign) { return sign == 0; }));
}

std::vector<fs::path> files_beside(const fs::path& name, bool is_wanted(const fs::path&)) {
  const std::string stem = name.filename().string();
  const fs::path folder = name.has_parent_path() ? name.parent_path() : fs::path(".");
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(stem) && is_process_suffix(std::string_view(file).substr(stem.size())) &&
        is_wanted(entry.path())) {
      found.push_back(name.has_parent_path() ? entry.path() : entry.path().filename());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<fs::path> profiles_beside(const fs::path& name) {
  return files_beside(name, is_profile);
}

std::vector<fs::path> unwritten_beside(const fs::path& name) {
  return files_beside(name, is_unwritten);
}

}  // namespace peakmark
