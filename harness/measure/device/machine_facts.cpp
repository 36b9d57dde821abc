#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/cuda_folders.hpp"
#include "measure/device/doctor.hpp"
#include "record/recorders/recorder_libraries.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<std::string> first_word(const char* path) {
  std::ifstream file(path);
  std::string word;
  if (file >> word) return word;
  return std::nullopt;
}

std::optional<double> load_average() {
  double load = 0;
  if (getloadavg(&load, 1) != 1) return std::nullopt;
  return load;
}

/// Returns the CUPTI that the recorder would find. Does not load it by path, because NVIDIA warns against
/// loading CUPTI twice.
std::optional<std::string> find_cupti(const std::optional<fs::path>& recorder) {
  static constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12"};
  for (const char* name : kNames) {
    // Not closed: unloading CUPTI leaks memory.
    if (dlopen(name, RTLD_LAZY | RTLD_LOCAL) != nullptr) return name;
  }
  std::vector<std::string> folders = cuda_library_folders();
  if (recorder) folders.insert(folders.begin(), recorder->parent_path().string());
  for (const std::string& folder : folders) {
    for (const char* name : kNames) {
      const fs::path path = fs::path(folder) / name;
      std::error_code error;
      if (fs::exists(path, error)) return path.string();
    }
  }
  return std::nullopt;
}

}  // namespace

MachineFacts gather_machine_facts() {
  MachineFacts facts;
  facts.build_type = PEAKMARK_BUILD_TYPE;
#ifndef NDEBUG
  facts.asserts = true;
#endif
  facts.sanitizers = PEAKMARK_BUILD_SANITIZERS;
  facts.devices = list_devices();
  facts.nvml = ask_nvml();

  const RecorderLibraries libraries = find_recorder_libraries();
  if (libraries.opencl) facts.opencl_recorder = libraries.opencl->string();
  if (libraries.cuda) facts.cuda_recorder = libraries.cuda->string();
  std::vector<std::string> folders;
  for (const fs::path& folder : libraries.folders) folders.push_back(folder.string());
  facts.recorder_folders = fmt::format("{}", fmt::join(folders, ", "));
  if (std::ranges::any_of(facts.devices.devices,
                          [](const DeviceInfo& info) { return info.backend == Backend::cuda; })) {
    facts.cupti = find_cupti(libraries.cuda);
  }
  facts.opencl_layers = variable("OPENCL_LAYERS");
  facts.cuda_injection = variable("CUDA_INJECTION64_PATH");
  facts.pocl_memory_limit = variable("POCL_MEMORY_LIMIT");
  facts.pocl_cache_folder = variable("POCL_CACHE_DIR");
  facts.pocl_work_group_method = variable("POCL_WORK_GROUP_METHOD");

  facts.governor = first_word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  facts.load_average = load_average();
  facts.cpus = static_cast<int>(std::thread::hardware_concurrency());
  return facts;
}

}  // namespace peakmark
