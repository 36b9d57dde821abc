// A program that allocates 500 bytes by a library with its own OpenCL loader (own_loader.cpp).
//   own_loader_program LIBRARY [with]
// With `with`, it first allocates and keeps 1000 bytes through libOpenCL.so.1.
#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdio>

namespace {

template <typename Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

bool allocate_by_system() {
  void* const loader = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (loader == nullptr) return false;
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  find<decltype(&clGetPlatformIDs)>(loader, "clGetPlatformIDs")(1, &platform, nullptr);
  find<decltype(&clGetDeviceIDs)>(loader, "clGetDeviceIDs")(platform, CL_DEVICE_TYPE_ALL, 1, &device,
                                                            nullptr);
  const cl_context context = find<decltype(&clCreateContext)>(loader, "clCreateContext")(
      nullptr, 1, &device, nullptr, nullptr, nullptr);
  return find<decltype(&clCreateBuffer)>(loader, "clCreateBuffer")(context, CL_MEM_READ_WRITE, 1000, nullptr,
                                                                   nullptr) != nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc > 2 && !allocate_by_system()) return 94;
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 95;
  }
  return find<int (*)(std::size_t)>(library, "allocate_bytes")(500);
}
