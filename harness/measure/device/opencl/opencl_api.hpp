#pragma once

#define CL_TARGET_OPENCL_VERSION 120

#include <CL/cl.h>

#include <memory>
#include <string>
#include <string_view>

namespace peakmark {

// The functions of OpenCL 1.2 that this backend calls. All are part of every loader.
#define PEAKMARK_OPENCL_FUNCTIONS(X)  \
  X(clBuildProgram)                   \
  X(clCreateBuffer)                   \
  X(clCreateCommandQueue)             \
  X(clCreateContext)                  \
  X(clCreateKernel)                   \
  X(clCreateProgramWithSource)        \
  X(clCreateSubBuffer)                \
  X(clEnqueueCopyBuffer)              \
  X(clEnqueueFillBuffer)              \
  X(clEnqueueMarkerWithWaitList)      \
  X(clEnqueueNDRangeKernel)           \
  X(clEnqueueReadBuffer)              \
  X(clEnqueueWriteBuffer)             \
  X(clFinish)                         \
  X(clGetDeviceIDs)                   \
  X(clGetDeviceInfo)                  \
  X(clGetEventInfo)                   \
  X(clGetEventProfilingInfo)          \
  X(clGetKernelArgInfo)               \
  X(clGetKernelInfo)                  \
  X(clGetKernelWorkGroupInfo)         \
  X(clGetPlatformIDs)                 \
  X(clGetPlatformInfo)                \
  X(clGetProgramBuildInfo)            \
  X(clReleaseCommandQueue)            \
  X(clReleaseContext)                 \
  X(clReleaseEvent)                   \
  X(clReleaseKernel)                  \
  X(clReleaseMemObject)               \
  X(clReleaseProgram)                 \
  X(clRetainProgram)                  \
  X(clSetKernelArg)                   \
  X(clSetMemObjectDestructorCallback) \
  X(clWaitForEvents)

/// The functions of OpenCL, looked up at run time: a program that links OpenCL would not start on a machine
/// without a loader.
struct OpenClApi {
#define PEAKMARK_OPENCL_MEMBER(name) \
  decltype(&::name) name = nullptr; /* NOLINT(bugprone-macro-parentheses) */
  PEAKMARK_OPENCL_FUNCTIONS(PEAKMARK_OPENCL_MEMBER)
#undef PEAKMARK_OPENCL_MEMBER
};

/// Loads libOpenCL.so.1 once. Returns null if it cannot be loaded; `opencl_absence` returns the reason.
const OpenClApi* find_opencl();
const std::string& opencl_absence();
/// Throws DeviceError if OpenCL is absent.
const OpenClApi& opencl();

template <typename Object, auto OpenClApi::*release>
struct OpenClRelease {
  void operator()(Object* object) const { (opencl().*release)(object); }
};
/// Owns one reference to an OpenCL object.
template <typename Object, auto OpenClApi::*release>
using OpenClHandle = std::unique_ptr<Object, OpenClRelease<Object, release>>;

using ContextHandle = OpenClHandle<_cl_context, &OpenClApi::clReleaseContext>;
using QueueHandle = OpenClHandle<_cl_command_queue, &OpenClApi::clReleaseCommandQueue>;
using MemoryHandle = OpenClHandle<_cl_mem, &OpenClApi::clReleaseMemObject>;
using ProgramHandle = OpenClHandle<_cl_program, &OpenClApi::clReleaseProgram>;
using KernelHandle = OpenClHandle<_cl_kernel, &OpenClApi::clReleaseKernel>;
using EventHandle = OpenClHandle<_cl_event, &OpenClApi::clReleaseEvent>;

/// Throws if `code` is not CL_SUCCESS: OutOfMemoryError if is_opencl_out_of_memory(), otherwise
/// MeasurementError. The message has the function, the error and `detail`.
void check_opencl(cl_int code, std::string_view call, const std::string& detail = {});

}  // namespace peakmark
