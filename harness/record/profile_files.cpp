#include "record/profile_files.hpp"

#include <algorithm>
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

}  // namespace

std::vector<fs::path> profiles_beside(const fs::path& name) {
  const std::string stem = name.filename().string();
  const fs::path folder = name.has_parent_path() ? name.parent_path() : fs::path(".");
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(stem) && is_process_suffix(std::string_view(file).substr(stem.size())) &&
        is_profile(entry.path())) {
      found.push_back(name.has_parent_path() ? entry.path() : entry.path().filename());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace peakmark
