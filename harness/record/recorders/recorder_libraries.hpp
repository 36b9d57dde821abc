#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

// File names of the recorders.
inline constexpr const char* kOpenclRecorder = "libpeakmark-opencl.so";
inline constexpr const char* kCudaRecorder = "libpeakmark-cupti.so";

/// The absolute paths of the recorders next to this program; empty if one was not built or installed.
struct RecorderLibraries {
  std::optional<std::filesystem::path> opencl;
  std::optional<std::filesystem::path> cuda;
  std::vector<std::filesystem::path> folders;  ///< the folders that were searched
};

/// Searches only $PEAKMARK_LIBRARY_DIR if that is set; otherwise `../lib/peakmark` next to an installed
/// `bin`, and further up in a build folder.
RecorderLibraries find_recorder_libraries();
/// Searches these folders instead of those next to the program.
RecorderLibraries find_recorder_libraries(const std::vector<std::filesystem::path>& folders);

/// Sets the variables that make the OpenCL loader and CUDA load the recorders, which then write
/// `profile`.<pid>. `environment` is a list of NAME=value. OpenCL layers that the user has set stay, after
/// the recorder. `sync`: finish the queue after each enqueue. `stacks`: record the call stack of each
/// allocation. Other variables do not change.
void add_recorders(std::vector<std::string>& environment, const RecorderLibraries& libraries,
                   const std::filesystem::path& profile, bool sync, bool stacks = false);

/// The limits of each device for each process of a program; null: what the device allows.
struct MemoryLimits {
  std::optional<Size> budget = std::nullopt;          ///< live bytes
  std::optional<Size> max_allocation = std::nullopt;  ///< bytes of one allocation
};

/// Sets the variables of the limits. Removes the variables of limits that are null.
void set_limits(std::vector<std::string>& environment, const MemoryLimits& limits);

/// Returns the library of another tool in the user's CUDA_INJECTION64_PATH, which add_recorders() replaces
/// because CUDA loads only one; empty if there is none.
std::string replaced_injection(const std::vector<std::string>& environment,
                               const RecorderLibraries& libraries);

/// Sets the variable that makes NVTX load a recorder, which converts ranges to phases; a value that the user
/// has set stays. Separate from add_recorders(), because ranges of libraries would split the phases of a
/// worker.
void add_ranges(std::vector<std::string>& environment, const RecorderLibraries& libraries);

/// Attaches to the recorder that a loader has loaded into this process. `library` is the path that the loader
/// got (OPENCL_LAYERS or CUDA_INJECTION64_PATH). Call it after the first call into OpenCL or CUDA. Throws
/// RecorderError, with the reason and what to do, if the recorder did not start.
std::unique_ptr<EventSource> attach_recorder(const std::filesystem::path& library);

}  // namespace peakmark
