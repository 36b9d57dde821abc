#pragma once

#include <string>
#include <vector>

namespace peakmark {

/// Returns the folders that may contain a CUDA library (CUPTI, cuFFT, NVRTC) that the loader does not find by
/// name, best first: next to libraries of CUDA that the process has loaded, in CUDA_HOME and CUDA_PATH, in
/// the pip packages of VIRTUAL_ENV, in /usr/local/cuda. Some of these folders may not exist. Uses only the
/// standard library, since the recorder is loaded into users' processes.
std::vector<std::string> cuda_library_folders();

/// Returns the arguments of dlopen, in this order, that find one of `names`: the names themselves, then each
/// name in each of `first` and of cuda_library_folders().
std::vector<std::string> cuda_library_files(const std::vector<std::string>& names,
                                            const std::vector<std::string>& first = {});

/// Loads the first library of cuda_library_files({name}). Null if there is none. `flags`: those of dlopen.
void* load_cuda_library(const std::string& name, int flags);

}  // namespace peakmark
