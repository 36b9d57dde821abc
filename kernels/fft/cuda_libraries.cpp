#include "kernels/fft/cuda_libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/cuda_folders.hpp"
#include "peakmark/worker/case.hpp"

namespace peakmark {

void* open_cuda_library(const std::string& name) {
  if (void* library = load_cuda_library(name, RTLD_NOW | RTLD_LOCAL)) return library;
  throw Unsupported(fmt::format(
      "fft: {} is not found: put its folder (of the CUDA toolkit, or of NVIDIA's pip package) into "
      "LD_LIBRARY_PATH, or set CUDA_HOME or VIRTUAL_ENV",
      name));
}

void* function_of_library(void* library, const char* name) {
  void* function = dlsym(library, name);
  if (function == nullptr) throw Unsupported(fmt::format("fft: the CUDA library here has no {}", name));
  return function;
}

}  // namespace peakmark
