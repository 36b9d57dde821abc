// An ordinary Google Benchmark: y = 2 * x + 1 on an OpenCL device, by two kernels with an array between them,
// or by one. For peakmark it only needs an include and the line below it.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <benchmark/benchmark.h>

#include <cstdint>
#include <peakmark/benchmark.hpp>
static const bool has_device_memory = peakmark::register_device_memory();

namespace {

constexpr const char* kSource =
    "kernel void scale(global const float* x, global float* y) { size_t i = get_global_id(0); y[i] = 2 * "
    "x[i]; }"
    "kernel void shift(global const float* x, global float* y) { size_t i = get_global_id(0); y[i] = x[i] + "
    "1; }"
    "kernel void fused(global const float* x, global float* y) { size_t i = get_global_id(0); y[i] = 2 * "
    "x[i] + 1; }";

struct Device {
  Device() {
    cl_platform_id platform = nullptr;
    if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS) return;
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, nullptr);
    context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, nullptr);
    queue = clCreateCommandQueue(context, id, 0, nullptr);
    program = clCreateProgramWithSource(context, 1, const_cast<const char**>(&kSource), nullptr, nullptr);
    is_usable = clBuildProgram(program, 1, &id, "", nullptr, nullptr) == CL_SUCCESS;
  }

  [[nodiscard]] cl_mem array(std::size_t n) const {
    return clCreateBuffer(context, CL_MEM_READ_WRITE, n * sizeof(float), nullptr, nullptr);
  }
  void run(const char* name, cl_mem x, cl_mem y, std::size_t n) const {
    const cl_kernel kernel = clCreateKernel(program, name, nullptr);
    clSetKernelArg(kernel, 0, sizeof(x), &x);
    clSetKernelArg(kernel, 1, sizeof(y), &y);
    clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &n, nullptr, 0, nullptr, nullptr);
    clReleaseKernel(kernel);
  }

  cl_device_id id = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_program program = nullptr;
  bool is_usable = false;
};

const Device& device() {
  static const Device the_device;
  return the_device;
}

/// One call of `work` is an iteration. It gets the arrays x, y and, if it needs one, a third between them.
template <typename Work>
void measure(benchmark::State& state, bool wants_between, const Work& work) {
  const auto n = static_cast<std::size_t>(state.range(0));
  if (!device().is_usable) return state.SkipWithError("no OpenCL device");
  const cl_mem x = device().array(n);
  const cl_mem y = device().array(n);
  const cl_mem between = wants_between ? device().array(n) : nullptr;
  if (x == nullptr || y == nullptr || (wants_between && between == nullptr)) {
    state.SkipWithError("out of device memory");
  } else {
    const float zero = 0;
    clEnqueueFillBuffer(device().queue, x, &zero, sizeof(zero), 0, n * sizeof(zero), 0, nullptr, nullptr);
    for (auto _ : state) {
      work(x, between, y, n);
      clFinish(device().queue);
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(2 * n * sizeof(float)));
  for (const cl_mem array : {x, y, between}) {
    if (array != nullptr) clReleaseMemObject(array);
  }
}

void two_kernels(benchmark::State& state) {
  measure(state, true, [](cl_mem x, cl_mem between, cl_mem y, std::size_t n) {
    device().run("scale", x, between, n);
    device().run("shift", between, y, n);
  });
}
BENCHMARK(two_kernels)->RangeMultiplier(16)->Range(1 << 12, 1 << 20);

void fused(benchmark::State& state) {
  // Optional: adds columns to the console output.
  const peakmark::DeviceMemoryCounters memory(state);
  measure(state, false, [](cl_mem x, cl_mem, cl_mem y, std::size_t n) { device().run("fused", x, y, n); });
}
BENCHMARK(fused)->RangeMultiplier(16)->Range(1 << 12, 1 << 20);

}  // namespace

BENCHMARK_MAIN();
