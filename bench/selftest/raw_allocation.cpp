#include <fmt/format.h>

#include <memory>
#include <stdexcept>

#include "selftest_computation.hpp"

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

/// Device memory taken from the driver itself, as a library would; released with this object.
class RawMemory {
 public:
  RawMemory() = default;
  RawMemory(const RawMemory&) = delete;
  RawMemory& operator=(const RawMemory&) = delete;
  virtual ~RawMemory() = default;
};

#ifdef PEAKMARK_HAS_OPENCL
template <typename Function>
Function loader_function(const char* name) {
  void* loader = dlopen("libOpenCL.so.1", RTLD_LAZY);
  void* function = loader != nullptr ? dlsym(loader, name) : nullptr;
  if (function == nullptr) throw std::runtime_error(fmt::format("no {} in libOpenCL.so.1", name));
  return reinterpret_cast<Function>(function);
}

class RawOpenClMemory final : public RawMemory {
 public:
  RawOpenClMemory(Device& device, Size bytes) {
    const auto create = loader_function<decltype(&clCreateBuffer)>("clCreateBuffer");
    cl_int error = CL_SUCCESS;
    memory_ =
        create(device.opencl_context(), CL_MEM_READ_WRITE, static_cast<std::size_t>(bytes), nullptr, &error);
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
    cudaGetLastError();  // or the next call of any code would report it
    throw OutOfMemory(fmt::format("cudaMalloc of {} bytes: {}", bytes, cudaGetErrorString(error)));
  }
  ~RawCudaMemory() override { cudaFree(memory_); }

 private:
  void* memory_ = nullptr;
};
#endif

/// Calls clCreateBuffer or cudaMalloc. Throws Unsupported on `dry`, OutOfMemory if the driver refuses.
std::unique_ptr<RawMemory> allocate_raw(Device& device, [[maybe_unused]] Size bytes) {
#ifdef PEAKMARK_HAS_OPENCL
  if (device.backend() == "opencl") return std::make_unique<RawOpenClMemory>(device, bytes);
#endif
#ifdef PEAKMARK_HAS_CUDA
  if (device.backend() == "cuda") return std::make_unique<RawCudaMemory>(bytes);
#endif
  throw Unsupported(fmt::format("{} has no driver to allocate from directly", device.backend()));
}

constexpr Size kRawSliceBytes = 1000;

/// Allocates 1,000 bytes per slice directly from the driver during each call; only a recorder sees them.
class RawAllocation final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;

  void call() override {
    const Size bytes = slices() * kRawSliceBytes;
    const std::unique_ptr<RawMemory> raw = allocate_raw(device(), bytes);
    SelftestComputation::call();
    device().finish();
  }
};

}  // namespace

void add_raw_allocation(Worker& worker) {
  Variant variant =
      selftest_variant("selftest/raw_allocation", "allocates directly from the driver", 100, kRawSliceBytes);
  variant.backends = {"opencl", "cuda"};
  worker.add<RawAllocation>(std::move(variant));
}

}  // namespace peakmark::selftest
