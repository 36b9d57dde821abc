#pragma once

#include <string>
#include <vector>

namespace peakmark {

/// Returns the folders where a CUDA library (CUPTI, cuFFT, NVRTC) may be that the loader does not find by
/// name, best first: next to libraries of CUDA that the process has loaded, in CUDA_HOME and CUDA_PATH, in
/// the pip packages of VIRTUAL_ENV, in /usr/local/cuda. Folders that do not exist may be among them. Uses the
/// standard library alone, since the recorder is loaded into other people's processes.
std::vector<std::string> cuda_library_folders();

/// Returns what dlopen is asked for, in this order, to find one of `names`: the names themselves, then each
/// name in each of `first` and of cuda_library_folders().
std::vector<std::string> cuda_library_files(const std::vector<std::string>& names,
                                            const std::vector<std::string>& first = {});

/// Loads the first library of cuda_library_files({name}). Null when there is none. `flags` are those of
/// dlopen.
void* load_cuda_library(const std::string& name, int flags);

}  // namespace peakmark
