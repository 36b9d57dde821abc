#pragma once

#include <string>

namespace peakmark {

/// Opens a library of the CUDA toolkit (`libcufft.so.12`) at run time, since nothing that is linked may keep
/// a program from starting where there is no CUDA: by the loader's own search, then in
/// cuda_library_folders(). Never closed. Throws Unsupported, with what to set, if there is none.
void* open_cuda_library(const std::string& name);

/// A function of such a library. Throws Unsupported where it lacks it.
void* function_of_library(void* library, const char* name);

}  // namespace peakmark
