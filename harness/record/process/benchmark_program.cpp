// A typical Google Benchmark with peakmark's one line, for OpenCL, and compiled for CUDA, too.
//   benchmark_program [late] FLAGS…     late: the device is opened before that line
#include <cstring>
#include <peakmark/benchmark.hpp>

#ifdef PEAKMARK_ON_CUDA
#include <cuda_runtime_api.h>
#else
#include <CL/cl.h>
#endif

namespace {

#ifdef PEAKMARK_ON_CUDA
using Buffer = void*;
bool is_open = false;

void open_device() {
  is_open = cudaSetDevice(0) == cudaSuccess;
}
Buffer buffer(std::int64_t bytes) {
  Buffer made = nullptr;
  cudaMalloc(&made, static_cast<std::size_t>(bytes));
  return made;
}
void release(Buffer buffer) {
  cudaFree(buffer);
}
#else
using Buffer = cl_mem;
cl_context context = nullptr;
bool is_open = false;

void open_device() {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  clGetPlatformIDs(1, &platform, nullptr);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
  context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  is_open = context != nullptr;
}
Buffer buffer(std::int64_t bytes) {
  return clCreateBuffer(context, CL_MEM_READ_WRITE, static_cast<std::size_t>(bytes), nullptr, nullptr);
}
void release(Buffer buffer) {
  clReleaseMemObject(buffer);
}
#endif

/// Allocates 1000 bytes, and two buffers for each iteration.
void buffers(benchmark::State& state) {
  const Buffer input = buffer(1000);
  for (auto _ : state) {
    const Buffer first = buffer(state.range(0));
    const Buffer second = buffer(3);
    release(first);
    release(second);
  }
  release(input);
}
BENCHMARK(buffers)->Arg(64)->Arg(4096)->Iterations(4);

void columns(benchmark::State& state) {
  const peakmark::DeviceMemoryCounters memory(state);
  const Buffer input = buffer(1000);
  for (auto _ : state) release(buffer(24));
  release(input);
}
BENCHMARK(columns)->Iterations(10);

void host(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(is_open);
}
BENCHMARK(host)->Iterations(1);

/// Each run leaves 500 bytes; it is the last benchmark.
void leak(benchmark::State& state) {
  buffer(500);
  for (auto _ : state) benchmark::DoNotOptimize(is_open);
}
BENCHMARK(leak)->Iterations(1);

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "late") == 0) open_device();
  peakmark::register_device_memory();
  if (!is_open) open_device();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
