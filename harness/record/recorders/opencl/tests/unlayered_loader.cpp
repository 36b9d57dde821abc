// An OpenCL loader without support for layers, like ocl-icd before 2.3 and NVIDIA's loader: each handle has
// its driver's table.
#include <CL/cl.h>
#include <CL/cl_icd.h>

#define PEAKMARK_EXPORT __attribute__((visibility("default")))

extern "C" {

PEAKMARK_EXPORT cl_int clGetPlatformIDs(cl_uint, cl_platform_id*, cl_uint* count) {
  if (count != nullptr) *count = 0;
  return CL_SUCCESS;
}

PEAKMARK_EXPORT cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void* host,
                                      cl_int* result) {
  return (*reinterpret_cast<const cl_icd_dispatch* const*>(context))
      ->clCreateBuffer(context, flags, bytes, host, result);
}

PEAKMARK_EXPORT cl_int clReleaseMemObject(cl_mem memory) {
  return (*reinterpret_cast<const cl_icd_dispatch* const*>(memory))->clReleaseMemObject(memory);
}
}
