#include "device/opencl/pocl_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace peakmark {
namespace {

std::filesystem::path variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Empty where no variable names one.
std::filesystem::path cache_folder() {
  if (auto named = variable("POCL_CACHE_DIR"); !named.empty()) return named;
  if (const auto cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache / "pocl" / "kcache";
  const auto home = variable("HOME");
  return home.empty() ? home : home / ".cache" / "pocl" / "kcache";
}

/// Of a folder that is not there yet, the nearest above it that is: PoCL makes the rest.
bool can_be_written(std::filesystem::path folder) {
  std::error_code ignored;
  while (!std::filesystem::exists(folder, ignored) && folder.has_parent_path() &&
         folder != folder.parent_path()) {
    folder = folder.parent_path();
  }
  return std::filesystem::is_directory(folder, ignored) && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

std::string pocl_cache_error() {
  const std::filesystem::path folder = cache_folder();
  if (folder.empty() || can_be_written(folder)) return {};
  return fmt::format(
      "PoCL cannot write its cache folder {}: set POCL_CACHE_DIR to a folder that can be written",
      folder.string());
}

}  // namespace peakmark
