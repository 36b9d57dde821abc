#include "cli/typed_words.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <system_error>
#include <vector>

#include "base/text.hpp"

namespace peakmark::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "peakmark";

std::vector<fs::path> folders_of_path() {
  std::vector<fs::path> folders;
  const char* const path = std::getenv("PATH");
  std::istringstream entries(path == nullptr ? "" : path);
  for (std::string entry; std::getline(entries, entry, ':');) folders.emplace_back(entry);
  return folders;
}

bool are_one_file(const fs::path& one, const fs::path& other) {
  std::error_code error;
  return fs::equivalent(one, other, error) && !error;
}

}  // namespace

std::string own_command() {
  // Python's command puts this program in its own place, and says what it was called by itself.
  const std::string called_by = program_invocation_name;
  if (called_by.find('/') == std::string::npos) return kName;
  for (const fs::path& folder : folders_of_path()) {
    const fs::path file = folder / kName;
    if (access(file.c_str(), X_OK) != 0) continue;
    if (are_one_file(file, "/proc/self/exe") || are_one_file(file, called_by)) return kName;
    break;  // the first is what a shell takes
  }
  return shell_word(called_by);
}

bool cmake_finds(const fs::path& prefix) {
  return std::ranges::any_of(folders_of_path(), [&](fs::path folder) {
    if (!folder.has_filename()) folder = folder.parent_path();  // "/usr/bin/"
    const bool is_bin = folder.filename() == "bin" || folder.filename() == "sbin";
    return are_one_file(is_bin ? folder.parent_path() : folder, prefix);
  });
}

}  // namespace peakmark::cli
