#include "base/own_program.hpp"

#include <system_error>

#include "base/environment_list.hpp"

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

std::optional<fs::path> folder_of_python_module() {
  for (const fs::path& prefix : prefixes_of_own_program()) {
    std::error_code error;
    const fs::path folder = prefix / "share" / "peakmark" / "python";
    if (fs::is_directory(folder / "peakmark", error)) return folder;
  }
  return std::nullopt;
}

void add_python_module(std::vector<std::string>& environment) {
  const auto module = folder_of_python_module();
  if (!module) return;
  const std::string path = variable_of(environment, "PYTHONPATH").value_or("");
  set_variable(environment, "PYTHONPATH", path.empty() ? module->string() : module->string() + ":" + path);
}

}  // namespace peakmark
