#include "recorders/recorder_libraries.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/program.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders_beside_program() {
  std::vector<fs::path> found;
  for (const fs::path& folder : own_program_prefixes()) found.push_back(folder / "lib" / "peakmark");
  return found;
}

std::optional<fs::path> find(const std::vector<fs::path>& folders, const char* name) {
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (fs::is_regular_file(folder / name, error)) return folder / name;
  }
  return std::nullopt;
}

}  // namespace

RecorderLibraries find_recorder_libraries() {
  return find_recorder_libraries(folders_beside_program());
}

RecorderLibraries find_recorder_libraries(const std::vector<fs::path>& folders) {
  RecorderLibraries libraries;
  libraries.folders = folders;
  if (const char* const folder = std::getenv("PEAKMARK_LIBRARY_DIR"); folder != nullptr && *folder != '\0') {
    libraries.folders = {fs::absolute(folder)};
  }
  libraries.opencl = find(libraries.folders, kOpenclRecorder);
  libraries.cuda = find(libraries.folders, kCudaRecorder);
  return libraries;
}

void add_recorders(std::vector<std::string>& environment, const RecorderLibraries& libraries,
                   const std::filesystem::path& profile, bool sync, bool stacks) {
  set_variable(environment, "PEAKMARK_PROFILE", fs::absolute(profile).string());
  set_variable(environment, "PEAKMARK_SYNC", sync ? "1" : "0");
  set_variable(environment, "PEAKMARK_STACKS", stacks ? "1" : "0");
  if (libraries.opencl) {
    // Ours first: ocl-icd cuts the variable at the first colon, in place, so that programs started by this
    // one see only what stands before it.
    std::string layers = libraries.opencl->string();
    std::string_view rest;
    const std::string users = find_variable(environment, "OPENCL_LAYERS").value_or("");
    for (rest = users; !rest.empty();) {
      const std::string_view layer = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), layer.size() + 1));
      if (!layer.empty() && layer != libraries.opencl->string()) layers.append(":").append(layer);
    }
    set_variable(environment, "OPENCL_LAYERS", layers);
  }
  if (libraries.cuda) set_variable(environment, "CUDA_INJECTION64_PATH", libraries.cuda->string());
}

std::string replaced_injection(const std::vector<std::string>& environment,
                               const RecorderLibraries& libraries) {
  const std::string users = find_variable(environment, "CUDA_INJECTION64_PATH").value_or("");
  return libraries.cuda && users != libraries.cuda->string() ? users : "";
}

void add_ranges(std::vector<std::string>& environment, const RecorderLibraries& libraries) {
  constexpr const char* kVariable = "NVTX_INJECTION64_PATH";
  const auto& library = libraries.cuda ? libraries.cuda : libraries.opencl;
  if (library && find_variable(environment, kVariable).value_or("").empty())
    set_variable(environment, kVariable, library->string());
}

}  // namespace peakmark
