// A program with two OpenCL loaders, as with Python's wheels: one creates the context, and the other only
// gets handles, and is never asked for its platforms.
//   two_loaders_program FIRST SECOND [again|linked]
// A buffer of 1000 bytes through the library FIRST; then one of 500 through the library SECOND. With `again`
// a queue is created through FIRST after SECOND is loaded. With `linked` the second buffer is created by the
// function that is first in symbol order, as for a library that is linked against SECOND.
#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

void* open_library(const char* path) {
  void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(95);
  }
  return library;
}

template <typename Function>
Function* find(void* library, const char* name) {
  auto* const function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) std::exit(94);
  return function;
}
#define FIND(library, name) find<decltype(name)>(library, #name)

cl_mem buffer(void* library, cl_context context, std::size_t bytes) {
  cl_int result = CL_SUCCESS;
  const cl_mem memory = FIND(library, clCreateBuffer)(context, CL_MEM_READ_WRITE, bytes, nullptr, &result);
  if (result != CL_SUCCESS) std::exit(99);
  return memory;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  void* const first = open_library(argv[1]);
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  if (FIND(first, clGetPlatformIDs)(1, &platform, nullptr) != CL_SUCCESS) return 96;
  FIND(first, clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
  const cl_context context = FIND(first, clCreateContext)(nullptr, 1, &device, nullptr, nullptr, nullptr);
  const cl_mem one = buffer(first, context, 1000);

  const std::string more = argc > 3 ? argv[3] : "";
  void* const loaded = open_library(argv[2]);
  void* const second = more == "linked" ? RTLD_DEFAULT : loaded;
  if (more == "again") FIND(first, clCreateCommandQueueWithProperties)(context, device, nullptr, nullptr);
  const cl_mem other = buffer(second, context, 500);
  FIND(second, clReleaseMemObject)(other);
  FIND(first, clReleaseMemObject)(one);
  return 0;
}
