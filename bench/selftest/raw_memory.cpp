#include "raw_memory.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

#ifdef PEAKMARK_HAS_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#endif
#ifdef PEAKMARK_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace peakmark::selftest {

namespace {

#ifdef PEAKMARK_HAS_OPENCL
template <typename Function>
Function loader_function(const char* name) {
  void* loader = dlopen("libOpenCL.so.1", RTLD_LAZY);
  void* function = loader != nullptr ? dlsym(loader, name) : nullptr;
  if (function == nullptr) throw MeasurementError(fmt::format("no {} in libOpenCL.so.1", name));
  return reinterpret_cast<Function>(function);
}

class RawOpenClMemory final : public RawMemory {
 public:
  RawOpenClMemory(Device& device, Size bytes) {
    const auto create = loader_function<decltype(&clCreateBuffer)>("clCreateBuffer");
    cl_int error = CL_SUCCESS;
    memory_ = create(static_cast<cl_context>(device.native().context), CL_MEM_READ_WRITE,
                     static_cast<std::size_t>(bytes), nullptr, &error);
    if (error != CL_SUCCESS) throw OutOfMemory(fmt::format("clCreateBuffer of {} bytes: {}", bytes, error));
  }
  ~RawOpenClMemory() override {
    loader_function<decltype(&clReleaseMemObject)>("clReleaseMemObject")(memory_);
  }

 private:
  cl_mem memory_ = nullptr;
};
#endif

#ifdef PEAKMARK_HAS_CUDA
class RawCudaMemory final : public RawMemory {
 public:
  explicit RawCudaMemory(Size bytes) {
    const cudaError_t error = cudaMalloc(&memory_, static_cast<std::size_t>(bytes));
    if (error == cudaSuccess) return;
    cudaGetLastError();  // or the next call of anybody fails with it
    throw OutOfMemory(fmt::format("cudaMalloc of {} bytes: {}", bytes, cudaGetErrorString(error)));
  }
  ~RawCudaMemory() override { cudaFree(memory_); }

 private:
  void* memory_ = nullptr;
};
#endif

}  // namespace

std::unique_ptr<RawMemory> allocate_raw(Device& device, [[maybe_unused]] Size bytes) {
  switch (device.info().backend) {
#ifdef PEAKMARK_HAS_OPENCL
    case Backend::opencl:
      return std::make_unique<RawOpenClMemory>(device, bytes);
#endif
#ifdef PEAKMARK_HAS_CUDA
    case Backend::cuda:
      return std::make_unique<RawCudaMemory>(bytes);
#endif
    default:
      throw Unsupported(fmt::format("no memory past our arrays on {}", to_string(device.info().backend)));
  }
}

}  // namespace peakmark::selftest
