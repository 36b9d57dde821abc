#include "kernels/fft/cuda_libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "base/error.hpp"

namespace peakmark {
namespace {

std::vector<std::string> roots() {
  std::vector<std::string> result;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(variable); root != nullptr && *root != '\0') result.emplace_back(root);
  result.emplace_back("/usr/local/cuda");
  return result;
}

}  // namespace

void* open_cuda_library(const std::string& name) {
  if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  for (const std::string& root : roots())
    for (const char* folder : {"/lib64/", "/lib/", "/targets/x86_64-linux/lib/"})
      if (void* library = dlopen(fmt::format("{}{}{}", root, folder, name).c_str(), RTLD_NOW | RTLD_LOCAL))
        return library;
  throw Unsupported(
      fmt::format("fft: {} is not found: put its folder (of the CUDA toolkit, or of NVIDIA's wheel) into "
                  "LD_LIBRARY_PATH, or set CUDA_HOME",
                  name));
}

void* function_of_library(void* library, const char* name) {
  void* function = dlsym(library, name);
  if (function == nullptr) throw Unsupported(fmt::format("fft: the CUDA library here has no {}", name));
  return function;
}

}  // namespace peakmark
