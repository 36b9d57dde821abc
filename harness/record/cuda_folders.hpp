#pragma once

#include <functional>
#include <string>
#include <vector>

namespace peakmark {

/// Returns the folders where a library of CUDA (CUPTI, cuFFT, NVRTC) may be although the loader does not find
/// it by its name, best first: next to libraries of CUDA that the process has loaded, in CUDA_HOME and
/// CUDA_PATH, in the pip packages of VIRTUAL_ENV, in /usr/local/cuda. Folders that do not exist may be among
/// them. Uses the standard library alone, since the recorder is loaded into other people's processes.
std::vector<std::string> cuda_library_folders();

/// Gives `wanted` each library of one of `names` until it returns true: those that are loaded, those that the
/// loader finds, those in `first` and in cuda_library_folders(); a folder is searched for all names before
/// the next one. A library may come more than once. False when none is wanted. `flags` are those of dlopen.
bool find_cuda_library(const std::vector<std::string>& names, int flags,
                       const std::vector<std::string>& first, const std::function<bool(void*)>& wanted);

/// Returns the first library that find_cuda_library() finds; null when there is none.
void* load_cuda_library(const std::vector<std::string>& names, int flags,
                        const std::vector<std::string>& first = {});

}  // namespace peakmark
