// A Google Benchmark as users have them, with peakmark's one line.
//   benchmark_program [late] FLAGS…     late: OpenCL is called before that line
#include <CL/cl.h>

#include <cstring>
#include <peakmark/benchmark.hpp>

namespace {

cl_device_id device = nullptr;
cl_context context = nullptr;

void open_device() {
  cl_platform_id platform = nullptr;
  clGetPlatformIDs(1, &platform, nullptr);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
  context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
}

cl_mem buffer(std::int64_t bytes) {
  return clCreateBuffer(context, CL_MEM_READ_WRITE, static_cast<std::size_t>(bytes), nullptr, nullptr);
}

/// 1000 bytes, and two buffers for each iteration.
void buffers(benchmark::State& state) {
  const cl_mem input = buffer(1000);
  for (auto _ : state) {
    const cl_mem first = buffer(state.range(0));
    const cl_mem second = buffer(3);
    clReleaseMemObject(first);
    clReleaseMemObject(second);
  }
  clReleaseMemObject(input);
}
BENCHMARK(buffers)->Arg(64)->Arg(4096)->Iterations(4);

void columns(benchmark::State& state) {
  const peakmark::DeviceMemoryCounters memory(state);
  const cl_mem input = buffer(1000);
  for (auto _ : state) clReleaseMemObject(buffer(24));
  clReleaseMemObject(input);
}
BENCHMARK(columns)->Iterations(10);

void host(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(device);
}
BENCHMARK(host)->Iterations(1);

/// Each run leaves 500 bytes: this is the last one.
void leak(benchmark::State& state) {
  buffer(500);
  for (auto _ : state) benchmark::DoNotOptimize(device);
}
BENCHMARK(leak)->Iterations(1);

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "late") == 0) open_device();
  peakmark::register_device_memory();
  if (device == nullptr) open_device();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
