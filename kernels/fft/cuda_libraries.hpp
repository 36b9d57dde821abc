#pragma once

#include <string>

namespace peakmark {

/// Opens a library of the CUDA toolkit (`libcufft.so.12`) at run time, since nothing that is linked may keep
/// a program from starting where there is no CUDA: by the loader's own search, then in CUDA_HOME, CUDA_PATH
/// and /usr/local/cuda. Never closed. Throws Unsupported, naming where it looked, where there is none.
void* open_cuda_library(const std::string& name);

/// A function of such a library. Throws Unsupported where it lacks it.
void* function_of_library(void* library, const char* name);

}  // namespace peakmark
