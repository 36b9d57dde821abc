#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/fft/fft_bytes.hpp"
#include "kernels/fft/fft_libraries.hpp"
#include "kernels/fft/plan_memory.hpp"
#include "kernels/fft/vkfft_text.hpp"
#include "measure/device/opencl/opencl_api.hpp"

// The library calls OpenCL by name. Nothing here is linked to OpenCL, so each name is a macro for a function
// below that calls the loader or, on `dry`, only returns success.
namespace peakmark {
namespace {

/// What the library asks of this device; set while a plan is made or run.
struct OpenClForVkfft {
  bool described = false;  ///< there is no device; fft_libraries.hpp describes it
  bool is_cpu = false;     ///< fft_libraries.hpp describes CPUs, too
};
thread_local OpenClForVkfft opencl_for_vkfft;

template <typename Object>
Object not_looked_at() {
  // Never used: the library only compares it with null and returns it.
  static char object;
  return reinterpret_cast<Object>(&object);
}

constexpr cl_uint kNvidia = 0x10de;

/// Returns what the device reports, at most `limit`.
template <typename T>
T limited(cl_device_id device, cl_device_info what, T limit) {
  if (opencl_for_vkfft.described) return limit;
  T value{};
  const cl_int code = opencl().clGetDeviceInfo(device, what, sizeof(T), &value, nullptr);
  return code == CL_SUCCESS ? std::min(value, limit) : limit;
}

cl_int device_info(cl_device_id device, cl_device_info what, std::size_t size, void* value,
                   std::size_t* written) {
  const bool described = opencl_for_vkfft.described;
  const bool as_cpu = described || opencl_for_vkfft.is_cpu;
  const auto answer = [&]<typename T>(T reported) {
    *static_cast<T*>(value) = reported;
    return CL_SUCCESS;
  };
  switch (what) {
    case CL_DEVICE_LOCAL_MEM_SIZE: {
      // For NVIDIA's devices, the library subtracts 16 bytes and rounds the rest down to a power of two.
      const cl_ulong reserved =
          !described && limited<cl_uint>(device, CL_DEVICE_VENDOR_ID, UINT32_MAX) == kNvidia ? 16 : 0;
      return answer(
          limited<cl_ulong>(device, what, static_cast<cl_ulong>(kVkfftLocalMemoryBytes) + reserved));
    }
    case CL_DEVICE_VENDOR_ID:
      if (as_cpu) return answer(static_cast<cl_uint>(kVkfftCpuVendor));
      break;
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      if (as_cpu) return answer(limited(device, what, static_cast<std::size_t>(kVkfftCpuThreads)));
      break;
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
      if (described) return answer(cl_uint{3});
      break;
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
      if (described) {
        std::fill_n(static_cast<std::size_t*>(value), 3, static_cast<std::size_t>(kVkfftCpuThreads));
        return CL_SUCCESS;
      }
      break;
    default:
      break;
  }
  return described ? CL_INVALID_VALUE : opencl().clGetDeviceInfo(device, what, size, value, written);
}

cl_mem create_buffer(cl_context, cl_mem_flags, std::size_t bytes, const void* data, cl_int* code) {
  const std::uintptr_t handle = PlanMemory::current()->allocate(
      bytes, data != nullptr ? PlanMemory::Use::table : PlanMemory::Use::work, data);
  *code = handle != 0 ? CL_SUCCESS : CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return reinterpret_cast<cl_mem>(handle);
}

cl_int release_buffer(cl_mem memory) {
  PlanMemory::current()->release(reinterpret_cast<std::uintptr_t>(memory));
  return CL_SUCCESS;
}

int vkfft_version();  // VkFFTGetVersion(), which is defined below

cl_program create_program(cl_context context, cl_uint count, const char** texts, const std::size_t* lengths,
                          cl_int* code) {
  *code = CL_SUCCESS;
  if (opencl_for_vkfft.described) return not_looked_at<cl_program>();
  if (count != 1) {
    *code = CL_INVALID_VALUE;
    return nullptr;
  }
  try {
    const std::string text = corrected_vkfft_text(
        lengths != nullptr ? std::string(texts[0], lengths[0]) : std::string(texts[0]), vkfft_version());
    const auto program = PlanMemory::current()->device().cached<_cl_program>(text, [&] {
      const char* source = text.c_str();
      cl_program created = opencl().clCreateProgramWithSource(context, 1, &source, nullptr, code);
      return std::shared_ptr<_cl_program>(ProgramHandle(created));
    });
    cl_program handle = program.get();
    if (handle != nullptr) opencl().clRetainProgram(handle);  // the library releases it with its plan
    return handle;
  } catch (...) {
    PlanMemory::current()->fail(std::current_exception());
    *code = CL_INVALID_VALUE;
    return nullptr;
  }
}

cl_int build_program(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                     void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  if (opencl_for_vkfft.described) return CL_SUCCESS;
  // It was built for an earlier plan. A program that has kernels must not be built again.
  cl_build_status status = CL_BUILD_NONE;
  const cl_int known = opencl().clGetProgramBuildInfo(program, *devices, CL_PROGRAM_BUILD_STATUS,
                                                      sizeof(status), &status, nullptr);
  if (known == CL_SUCCESS && status == CL_BUILD_SUCCESS) return CL_SUCCESS;
  return opencl().clBuildProgram(program, count, devices, options, notify, data);
}

cl_int build_info(cl_program program, cl_device_id device, cl_program_build_info what, std::size_t size,
                  void* value, std::size_t* written) {
  return opencl().clGetProgramBuildInfo(program, device, what, size, value, written);
}

cl_kernel create_kernel(cl_program program, const char* name, cl_int* code) {
  *code = CL_SUCCESS;
  if (opencl_for_vkfft.described) return not_looked_at<cl_kernel>();
  return opencl().clCreateKernel(program, name, code);
}

cl_int release_program(cl_program program) {
  return opencl_for_vkfft.described ? CL_SUCCESS : opencl().clReleaseProgram(program);
}

cl_int release_kernel(cl_kernel kernel) {
  return opencl_for_vkfft.described ? CL_SUCCESS : opencl().clReleaseKernel(kernel);
}

cl_int set_argument(cl_kernel kernel, cl_uint index, std::size_t bytes, const void* value) {
  return opencl().clSetKernelArg(kernel, index, bytes, value);
}

cl_int enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const std::size_t* offset,
               const std::size_t* global, const std::size_t* local, cl_uint, const cl_event*, cl_event*) {
  return opencl().clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, 0, nullptr,
                                         nullptr);
}

// For plans stored as binaries and for convolutions of lengths with large prime factors; neither is used
// here.
template <typename... Any>
cl_int not_needed(Any...) {
  return CL_INVALID_OPERATION;
}
template <typename... Any>
std::nullptr_t none_needed(Any...) {
  return nullptr;
}

}  // namespace
}  // namespace peakmark

#define clGetDeviceInfo peakmark::device_info
#define clCreateBuffer peakmark::create_buffer
#define clReleaseMemObject peakmark::release_buffer
#define clCreateProgramWithSource peakmark::create_program
#define clCreateProgramWithBinary peakmark::none_needed
#define clBuildProgram peakmark::build_program
#define clGetProgramBuildInfo peakmark::build_info
#define clGetProgramInfo peakmark::not_needed
#define clCreateKernel peakmark::create_kernel
#define clReleaseKernel peakmark::release_kernel
#define clReleaseProgram peakmark::release_program
#define clSetKernelArg peakmark::set_argument
#define clEnqueueNDRangeKernel peakmark::enqueue
#define clCreateCommandQueue peakmark::none_needed
#define clReleaseCommandQueue peakmark::not_needed
#define clEnqueueReadBuffer peakmark::not_needed
#define clEnqueueWriteBuffer peakmark::not_needed
#define clFinish peakmark::not_needed
#define VKFFT_BACKEND 3
#include <vkFFT.h>
#undef clGetDeviceInfo

namespace peakmark {
namespace {

int vkfft_version() {
  return VkFFTGetVersion();
}

using VkfftHandle = cl_mem;

class VkfftBackend {
 public:
  explicit VkfftBackend(Device& device)
      : dry_(device.is_dry()),
        context_(device.opencl_context()),
        queue_(device.opencl_queue()),
        device_(device.opencl_device()) {
    if (dry_) {
      context_ = not_looked_at<cl_context>();
      device_ = not_looked_at<cl_device_id>();
      return;
    }
    // The type of the device itself; Device::is_cpu only selects the kernels of peakmark.
    cl_device_type type = 0;
    opencl().clGetDeviceInfo(device_, CL_DEVICE_TYPE, sizeof(type), &type, nullptr);
    is_cpu_ = (type & CL_DEVICE_TYPE_CPU) != 0;
  }

  void configure(VkFFTConfiguration& configuration) {
    enter();
    configuration.context = &context_;
    configuration.device = &device_;
  }
  void launch(VkFFTLaunchParams& launch) { launch.commandQueue = &queue_; }
  /// From here on, queries of the library refer to this device.
  void enter() const { opencl_for_vkfft = {.described = dry_, .is_cpu = is_cpu_}; }
  [[nodiscard]] bool is_dry() const { return dry_; }

  static constexpr bool kOffsets = true;
  static constexpr bool kHoldsWrittenTables = false;
  static VkfftHandle at(const DeviceArray& array, std::uint64_t /*offset*/) { return array.opencl(); }

 private:
  bool dry_, is_cpu_ = false;
  cl_context context_;
  cl_command_queue queue_;
  cl_device_id device_;
};

}  // namespace
}  // namespace peakmark

#include "kernels/fft/vkfft_plan.inc"

namespace peakmark {

std::unique_ptr<RealFft> make_vkfft_opencl(Device& device, const FftPlan& plan) {
  return std::make_unique<VkfftFft>(device, plan);
}

}  // namespace peakmark
