// The library's other tasks: they call the loader in own_loader.cpp.
#include <CL/cl.h>

extern "C" __attribute__((visibility("default"))) int allocate_bytes(std::size_t bytes) {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS) return 91;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) return 92;
  const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  const cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, nullptr);
  return memory == nullptr ? 93 : clReleaseMemObject(memory);
}
