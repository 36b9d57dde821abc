// For tests: only the part of libcuda.so.1 that loads a recorder.
#include <dlfcn.h>

#include <cstdlib>

namespace {

bool is_up = false;

}  // namespace

extern "C" {

int cuInit(unsigned) {
  if (is_up) return 0;
  is_up = true;
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))();
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = 1;
  return is_up ? 0 : 3;  // CUDA_ERROR_NOT_INITIALIZED
}

}  // extern "C"
