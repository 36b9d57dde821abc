// A second CUDA driver, like a copy of libcuda that a package brings: it loads the recorder too.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>

extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI cuInit(unsigned /*flags*/) {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const recorder = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (recorder == nullptr) return CUDA_SUCCESS;
  const int is_loaded = reinterpret_cast<int (*)()>(dlsym(recorder, "InitializeInjection"))();
  return is_loaded == 1 ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}
