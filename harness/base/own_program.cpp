#include "base/own_program.hpp"

#include <system_error>

namespace peakmark {

namespace fs = std::filesystem;

fs::path folder_of_own_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

std::vector<fs::path> prefixes_of_own_program() {
  std::vector<fs::path> prefixes;
  fs::path up = folder_of_own_program();
  for (int level = 0; level < 3 && up.has_relative_path(); ++level) {
    up = up.parent_path();
    prefixes.push_back(up);
  }
  return prefixes;
}

}  // namespace peakmark
