// For tests: of libOpenCL.so.1 what brings a recorder in at the first call, and no more.
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
