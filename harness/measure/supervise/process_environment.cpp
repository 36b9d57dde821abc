#include "measure/supervise/process_environment.hpp"

#include "base/error.hpp"
#include "base/program.hpp"

namespace peakmark {

namespace {

std::filesystem::path recorder_for(const DeviceInfo& device, const RecorderLibraries& libraries) {
  const auto& library = device.backend == Backend::cuda ? libraries.cuda : libraries.opencl;
  if (library) return *library;
  std::string message =
      "the recorder for " + std::string(to_string(device.backend)) + " is not installed; looked in";
  for (const auto& folder : libraries.folders) message += " " + folder.string();
  throw RecorderError(message + " (PEAKMARK_LIBRARY_DIR names another folder)");
}

}  // namespace

RecordingEnvironment::RecordingEnvironment(const DeviceInfo& device, std::vector<std::string> environment,
                                           bool stacks, const MemoryLimits& limits)
    : variables_(std::move(environment)) {
  set_limits(variables_, limits);
  // Its URL may contain a password, and no worker needs it.
  std::erase_if(variables_, [](const std::string& entry) { return entry.starts_with("PEAKMARK_HISTORY="); });
  if (device.backend == Backend::dry) return;
  const RecorderLibraries libraries = find_recorder_libraries();
  const std::filesystem::path recorder = recorder_for(device, libraries);
  folder_.emplace();
  add_recorders(variables_, libraries, folder_->path() / "worker.profile", false, stacks);
  set_variable(variables_, "PEAKMARK_RECORDER_LIBRARY", recorder.string());
  // PoCL caches compiled kernels in the user's cache folder. Without this folder it would compile them for
  // every case.
  if (!find_variable(variables_, "POCL_CACHE_DIR") && !find_variable(variables_, "XDG_CACHE_HOME") &&
      !find_variable(variables_, "HOME")) {
    variables_.push_back("POCL_CACHE_DIR=" + (folder_->path() / "pocl-cache").string());
  }
}

}  // namespace peakmark
