#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <memory>
#include <string>

namespace peakmark {

// The functions of OpenCL 1.2 that this backend calls. All are part of every loader.
#define PEAKMARK_OPENCL_FUNCTIONS(X) \
  X(clBuildProgram)                  \
  X(clCreateBuffer)                  \
  X(clCreateCommandQueue)            \
  X(clCreateContext)                 \
  X(clCreateKernel)                  \
  X(clCreateProgramWithSource)       \
  X(clEnqueueCopyBuffer)             \
  X(clEnqueueFillBuffer)             \
  X(clEnqueueMarkerWithWaitList)     \
  X(clEnqueueNDRangeKernel)          \
  X(clEnqueueReadBuffer)             \
  X(clEnqueueWriteBuffer)            \
  X(clFinish)                        \
  X(clGetDeviceIDs)                  \
  X(clGetDeviceInfo)                 \
  X(clGetEventInfo)                  \
  X(clGetEventProfilingInfo)         \
  X(clGetKernelArgInfo)              \
  X(clGetKernelInfo)                 \
  X(clGetKernelWorkGroupInfo)        \
  X(clGetMemObjectInfo)              \
  X(clGetPlatformIDs)                \
  X(clGetPlatformInfo)               \
  X(clGetProgramBuildInfo)           \
  X(clReleaseCommandQueue)           \
  X(clReleaseContext)                \
  X(clReleaseEvent)                  \
  X(clReleaseKernel)                 \
  X(clReleaseMemObject)              \
  X(clReleaseProgram)                \
  X(clSetKernelArg)                  \
  X(clWaitForEvents)

/// OpenCL's functions, looked up at run time: a peakmark built with OpenCL must start where no loader is
/// installed, and say so. A library linked at build time would keep the program from starting at all.
struct OpenClApi {
#define PEAKMARK_OPENCL_MEMBER(name) decltype(&::name) name = nullptr;
  PEAKMARK_OPENCL_FUNCTIONS(PEAKMARK_OPENCL_MEMBER)
#undef PEAKMARK_OPENCL_MEMBER
};

/// Loads libOpenCL.so.1 once. Null where it cannot be loaded; then `opencl_absence` says why.
const OpenClApi* find_opencl();
const std::string& opencl_absence();
/// Throws DeviceError where OpenCL is absent.
const OpenClApi& opencl();

/// Owns one reference to an OpenCL object.
#define PEAKMARK_OPENCL_HANDLE(Name, Object, release)                   \
  struct Name##Release {                                                \
    void operator()(Object* object) const { opencl().release(object); } \
  };                                                                    \
  using Name = std::unique_ptr<Object, Name##Release>;
PEAKMARK_OPENCL_HANDLE(ContextHandle, _cl_context, clReleaseContext)
PEAKMARK_OPENCL_HANDLE(QueueHandle, _cl_command_queue, clReleaseCommandQueue)
PEAKMARK_OPENCL_HANDLE(MemoryHandle, _cl_mem, clReleaseMemObject)
PEAKMARK_OPENCL_HANDLE(ProgramHandle, _cl_program, clReleaseProgram)
PEAKMARK_OPENCL_HANDLE(KernelHandle, _cl_kernel, clReleaseKernel)
PEAKMARK_OPENCL_HANDLE(EventHandle, _cl_event, clReleaseEvent)
#undef PEAKMARK_OPENCL_HANDLE

}  // namespace peakmark
