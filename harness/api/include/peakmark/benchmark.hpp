/// Device memory in a program that is a Google Benchmark already. One line, anywhere at namespace scope or at
/// the beginning of main():
///
///     static const bool has_device_memory = peakmark::register_device_memory();
///
/// and the program's JSON has max_bytes_used, allocs_per_iter, total_allocated_bytes and net_heap_growth of
/// what its benchmarks allocate on devices, by OpenCL and by CUDA. docs/google-benchmark.md tells what is
/// counted. Google Benchmark 1.6 or newer, C++11 or newer; link peakmark::benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <limits>

#include "peakmark/memory_abi.h"

namespace peakmark {
// A name of its own for each version of the seam.
inline namespace memory_1 {
namespace detail {

/// Says once why there are no figures.
inline void tell_no_device_memory(const char* why) {
  static bool is_told = false;
  if (!is_told) std::fprintf(stderr, "peakmark: device memory is not measured: %s\n", why);
  is_told = true;
}

/// What Google Benchmark asks once for each repetition, in iterations of their own after the timed ones.
// Not marked `override`: which of the two Stop there are depends on the version.
class DeviceMemoryManager : public ::benchmark::MemoryManager {
 public:
  void Start() { trouble_ = peakmark_memory_begin(&stretch_); }

  void Stop(Result& result) {
    peakmark_memory_use use;
    if (trouble_ == nullptr) trouble_ = peakmark_memory_end(stretch_, &use);
    if (trouble_ == nullptr) {
      result.num_allocs = use.allocations;
      result.max_bytes_used = use.peak_bytes;
      result.total_allocated_bytes = use.total_bytes;
      result.net_heap_growth = use.live_after_bytes - use.live_before_bytes;
      return;
    }
    // Google Benchmark's number for what is not known. It is written for this row, since it cannot be taken
    // back any more; the rows after it have no memory.
    tell_no_device_memory(trouble_);
    result.num_allocs = std::numeric_limits<std::int64_t>::max();
    result.max_bytes_used = std::numeric_limits<std::int64_t>::max();
    ::benchmark::RegisterMemoryManager(nullptr);
  }
  void Stop(Result* result) { Stop(*result); }

 private:
  const char* trouble_ = nullptr;
  std::uint64_t stretch_ = 0;
};

}  // namespace detail

/// Has what benchmarks allocate on devices recorded, and told in the JSON. To be called before the first call
/// into OpenCL or CUDA, and before the benchmarks run. False where nothing can be recorded: it says why on
/// standard error, and the program is what it was without it, its JSON without memory.
inline bool register_device_memory() {
  if (const char* const why = peakmark_memory_load()) {
    detail::tell_no_device_memory(why);
    return false;
  }
  static detail::DeviceMemoryManager manager;
  ::benchmark::RegisterMemoryManager(&manager);
  return true;
}

/// Columns in the console too, where Google Benchmark shows no memory: as the first line of a benchmark,
///
///     peakmark::DeviceMemoryCounters memory(state);
///
/// adds the counters `device_peak` (the most live bytes from that line to the benchmark's end),
/// `device_total` (bytes of all allocations) and `device_allocations`. Of a benchmark of several threads the
/// first one tells, for all of them. Where nothing is recorded there are no such counters.
class DeviceMemoryCounters {
 public:
  /// Of the benchmark that has this state, from here on.
  explicit DeviceMemoryCounters(::benchmark::State& state) : state_(state) {
    is_begun_ = state.thread_index() == 0 && peakmark_memory_begin(&stretch_) == nullptr;
  }
  DeviceMemoryCounters(const DeviceMemoryCounters&) = delete;
  DeviceMemoryCounters& operator=(const DeviceMemoryCounters&) = delete;
  ~DeviceMemoryCounters() {
    peakmark_memory_use use;
    if (!is_begun_) return;
    if (const char* const why = peakmark_memory_end(stretch_, &use)) {
      detail::tell_no_device_memory(why);
      return;
    }
    using ::benchmark::Counter;
    state_.counters["device_peak"] =
        Counter(static_cast<double>(use.peak_bytes), Counter::kDefaults, Counter::kIs1024);
    state_.counters["device_total"] =
        Counter(static_cast<double>(use.total_bytes), Counter::kDefaults, Counter::kIs1024);
    state_.counters["device_allocations"] = Counter(static_cast<double>(use.allocations));
  }

 private:
  ::benchmark::State& state_;
  std::uint64_t stretch_ = 0;
  bool is_begun_ = false;
};

}  // namespace memory_1
}  // namespace peakmark
