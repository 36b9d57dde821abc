// Measures the overhead of the OpenCL recorder in ns per event.
//
//     build/release/bench/record_bench
//
// `layer` creates and releases a buffer (two events) on the first OpenCL device. It interleaves calls through
// the loader and the recorder with direct calls of the driver's dispatch table. `ns_per_event` is half the
// difference of the medians. `write` only writes events into a growing file. The bound is 200 ns per event.
// For the cost of call stacks, compare with
//
//     PEAKMARK_STACKS=1 build/release/bench/record_bench --benchmark_filter=layer
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/files_testing.hpp"
#include "recorders/profile_writer.hpp"
#include "recorders/recorder_libraries.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBytes = 4096;
constexpr int kPairs = 500;  // in one block: long enough for the clock, short enough to interleave finely

template <typename Create, typename Release>
double ns_a_pair(Create create, Release release) {
  const auto start = Clock::now();
  for (int i = 0; i < kPairs; ++i) release(create());
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kPairs;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void layer(benchmark::State& state) {
  const auto libraries = peakmark::find_recorder_libraries();
  if (!libraries.opencl) {
    state.SkipWithError("libpeakmark-opencl.so is not built");
    return;
  }
  const peakmark::TemporaryFolder folder;
  const std::string profile = folder.path() / "p";
  setenv("OPENCL_LAYERS", libraries.opencl->c_str(), 1);
  setenv("PEAKMARK_PROFILE", profile.c_str(), 1);
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_int result = CL_SUCCESS;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) {
    state.SkipWithError("no OpenCL device");
    return;
  }
  const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &result);
  const auto recorder = peakmark::attach_recorder(*libraries.opencl);

  // An OpenCL handle starts with a pointer to the driver's dispatch table.
  const cl_icd_dispatch& driver = **reinterpret_cast<const cl_icd_dispatch* const*>(context);
  std::vector<double> with;
  std::vector<double> without;
  const std::uint64_t first = recorder->count();
  for ([[maybe_unused]] auto step : state) {
    with.push_back(ns_a_pair([&] { return clCreateBuffer(context, 0, kBytes, nullptr, nullptr); },
                             [](cl_mem memory) { clReleaseMemObject(memory); }));
    without.push_back(ns_a_pair([&] { return driver.clCreateBuffer(context, 0, kBytes, nullptr, nullptr); },
                                [&](cl_mem memory) { driver.clReleaseMemObject(memory); }));
  }
  // Call stacks are events too.
  if (recorder->count() - first < 2 * kPairs * with.size()) state.SkipWithError("events are missing");
  state.counters["with_ns"] = median(with);
  state.counters["without_ns"] = median(without);
  state.counters["ns_per_event"] = (median(with) - median(without)) / 2;
  clReleaseContext(context);
}
BENCHMARK(layer)->Iterations(400)->Unit(benchmark::kMillisecond);

void write(benchmark::State& state) {
  const peakmark::TemporaryFolder folder;
  const std::string profile = folder.path() / "p";
  auto& writer = *new peakmark::ProfileWriter;  // never destroyed, as in a recorder
  if (!writer.open(profile.c_str(), "bench 1")) {
    state.SkipWithError("no profile");
    return;
  }
  std::uint64_t address = 0;
  for ([[maybe_unused]] auto step : state) {
    writer.allocation(++address, kBytes, peakmark::MemoryKind::buffer);
  }
  writer.close();
}
BENCHMARK(write)->Iterations(1'000'000);

}  // namespace

BENCHMARK_MAIN();
