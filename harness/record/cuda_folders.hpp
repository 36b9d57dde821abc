#pragma once

#include <string>
#include <vector>

namespace peakmark {

/// Returns the folders where a library of CUDA (CUPTI, cuFFT, NVRTC) may be although the loader does not find
/// it by its name, best first: next to libraries of CUDA that the process has loaded, in CUDA_HOME and
/// CUDA_PATH, in the pip packages of VIRTUAL_ENV, in /usr/local/cuda. Folders that do not exist may be among
/// them. Uses the standard library alone, since the recorder is loaded into other people's processes.
std::vector<std::string> cuda_library_folders();

/// Loads the first of `names` that is loaded, that the loader finds, or that is in one of `first` or of
/// cuda_library_folders(); a folder is searched for all names before the next one. Null when there is none.
/// `flags` are those of dlopen.
void* load_cuda_library(const std::vector<std::string>& names, int flags,
                        const std::vector<std::string>& first = {});

}  // namespace peakmark
