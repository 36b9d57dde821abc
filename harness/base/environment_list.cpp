#include "base/environment_list.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace peakmark {
namespace {

bool sets(const std::string& entry, std::string_view name) {
  return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

}  // namespace

std::vector<std::string> current_environment() {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    environment.emplace_back(*entry);
  return environment;
}

void set_own_environment(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    const std::string name = entry.substr(0, equals);
    // Of two entries of one name the first counts, as for getenv.
    const std::string value = variable_of(environment, name).value();
    const char* const present = std::getenv(name.c_str());
    if (present == nullptr || value != present) setenv(name.c_str(), value.c_str(), 1);
  }
}

void set_variable(std::vector<std::string>& environment, std::string_view name, const std::string& value) {
  std::erase_if(environment, [&](const std::string& entry) { return sets(entry, name); });
  environment.push_back(std::string(name) + "=" + value);
}

std::optional<std::string> variable_of(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (sets(entry, name)) return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::string without_empty_folders(std::string_view folders) {
  std::string kept;
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folders.size(), folder.size() + 1));
    if (!folder.empty()) kept.append(kept.empty() ? "" : ":").append(folder);
  }
  return kept;
}

bool can_be_executed(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::filesystem::path> program_in(const std::vector<std::string>& environment,
                                                const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return can_be_executed(name) ? std::optional<std::filesystem::path>(name) : std::nullopt;
  }
  std::istringstream folders(variable_of(environment, "PATH").value_or("/usr/local/bin:/usr/bin:/bin"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (can_be_executed(std::filesystem::path(folder) / name)) return std::filesystem::path(folder) / name;
  }
  return std::nullopt;
}

}  // namespace peakmark
