// For tests: only the part of libOpenCL.so.1 that loads a recorder at the first call.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

namespace {

bool is_called = false;

}  // namespace

extern "C" std::int32_t clGetPlatformIDs(std::uint32_t, void*, std::uint32_t* count) {
  *count = 1;
  if (is_called) return 0;
  is_called = true;
  const char* const path = std::getenv("OPENCL_LAYERS");
  void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))();
  return 0;
}
