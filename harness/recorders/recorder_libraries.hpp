#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace peakmark {

// What the recorders' files are called.
inline constexpr const char* kOpenclRecorder = "libpeakmark-opencl.so";
inline constexpr const char* kCudaRecorder = "libpeakmark-cupti.so";

/// The recorders that stand beside this program, by absolute path; empty where one was not built or
/// installed.
struct RecorderLibraries {
  std::optional<std::filesystem::path> opencl;
  std::optional<std::filesystem::path> cuda;
  std::vector<std::filesystem::path> folders;  ///< where they were looked for
};

/// Looks in $PEAKMARK_LIBRARY_DIR where that is set, and nowhere else then; otherwise beside this program:
/// `../lib/peakmark` from an installed `bin`, and further up in a build folder.
RecorderLibraries find_recorder_libraries();
/// The same in these folders, instead of beside the program.
RecorderLibraries find_recorder_libraries(const std::vector<std::filesystem::path>& folders);

/// Sets in `environment` (a list of NAME=value) what makes the loaders of OpenCL and CUDA load the recorders,
/// which then write `profile`.<pid>. Layers that the user has asked for by OPENCL_LAYERS stay, after ours.
/// `sync`: finish the queue after each enqueue. `stacks`: each allocation brings its call stack. Everything
/// that is not said here is left alone.
void add_recorders(std::vector<std::string>& environment, const RecorderLibraries& libraries,
                   const std::filesystem::path& profile, bool sync, bool stacks = false);

/// The library of another tool that the user has CUDA load, which `add_recorders` replaces: CUDA takes one
/// only. Empty where there is none.
std::string replaced_injection(const std::vector<std::string>& environment,
                               const RecorderLibraries& libraries);

/// Sets what makes NVTX load a recorder, which then takes its ranges for phases; what the user has set stays.
/// Apart, since ranges of libraries would cut the phases up by which a worker tells a call from its set-up.
void add_ranges(std::vector<std::string>& environment, const RecorderLibraries& libraries);

}  // namespace peakmark
