#pragma once

#include <string>

namespace peakmark {

/// Opens a library of the CUDA toolkit (`libcufft.so.12`) at run time, so that programs start without CUDA.
/// Searches like the loader, then in cuda_library_folders(). Never closes it. Throws Unsupported, with what
/// to set, if it is not found.
void* open_cuda_library(const std::string& name);

/// Returns a function of such a library. Throws Unsupported if the library does not have it.
void* function_of_library(void* library, const char* name);

}  // namespace peakmark
