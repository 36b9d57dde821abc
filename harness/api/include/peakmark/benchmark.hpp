/// Device memory in an existing Google Benchmark program. One line, at namespace scope or at the beginning of
/// main():
///
///     static const bool has_device_memory = peakmark::register_device_memory();
///
/// adds max_bytes_used, allocs_per_iter, total_allocated_bytes and net_heap_growth to the program's JSON, for
/// allocations on devices by OpenCL and CUDA. docs/google-benchmark.md lists what is counted. Needs Google
/// Benchmark 1.6 or newer and C++11 or newer; link peakmark::benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <limits>

#include "peakmark/memory_abi.h"

namespace peakmark {
// Each MAJOR version of the ABI has its own namespace.
inline namespace memory_1 {
namespace detail {

/// Prints once why nothing is measured.
inline void print_unavailable(const char* reason) {
  static bool is_printed = false;
  if (!is_printed) std::fprintf(stderr, "peakmark: device memory is not measured: %s\n", reason);
  is_printed = true;
}

/// Google Benchmark calls it once for each repetition, for extra iterations after the timed ones.
// Not marked `override`: Google Benchmark declares one of the two Stop, depending on its version.
class DeviceMemoryManager : public ::benchmark::MemoryManager {
 public:
  void Start() { error_ = peakmark_memory_begin(&region_); }

  void Stop(Result& result) {
    peakmark_memory_use use;
    if (error_ == nullptr) error_ = peakmark_memory_end(region_, &use);
    if (error_ == nullptr) {
      result.num_allocs = use.allocations;
      result.max_bytes_used = use.peak_bytes;
      result.total_allocated_bytes = use.total_bytes;
      result.net_heap_growth = use.live_after_bytes - use.live_before_bytes;
      return;
    }
    // Google Benchmark's value for unknown. This row is written with it; later rows have no memory fields.
    print_unavailable(error_);
    result.num_allocs = std::numeric_limits<std::int64_t>::max();
    result.max_bytes_used = std::numeric_limits<std::int64_t>::max();
    ::benchmark::RegisterMemoryManager(nullptr);
  }
  void Stop(Result* result) { Stop(*result); }

 private:
  const char* error_ = nullptr;
  std::uint64_t region_ = 0;
};

}  // namespace detail

/// Starts to record what benchmarks allocate on devices, and adds it to the JSON. Call it before the first
/// call of OpenCL or CUDA, and before the benchmarks run. Returns false if nothing can be recorded: it prints
/// the reason to stderr, and the program runs on without memory in its JSON.
inline bool register_device_memory() {
  if (const char* const why = peakmark_memory_load()) {
    detail::print_unavailable(why);
    return false;
  }
  static detail::DeviceMemoryManager manager;
  ::benchmark::RegisterMemoryManager(&manager);
  return true;
}

/// Shows device memory in Google Benchmark's console output. As the first line of a benchmark,
///
///     peakmark::DeviceMemoryCounters memory(state);
///
/// adds the counters `device_peak` (the maximum of live bytes from that line to the end of the benchmark),
/// `device_total` (bytes of all allocations) and `device_allocations`. In a benchmark of several threads the
/// first thread reports for all. Without a recording there are no counters.
class DeviceMemoryCounters {
 public:
  /// Begins to count for the benchmark of this state.
  explicit DeviceMemoryCounters(::benchmark::State& state) : state_(state) {
    is_begun_ = state.thread_index() == 0 && peakmark_memory_begin(&region_) == nullptr;
  }
  DeviceMemoryCounters(const DeviceMemoryCounters&) = delete;
  DeviceMemoryCounters& operator=(const DeviceMemoryCounters&) = delete;
  ~DeviceMemoryCounters() {
    peakmark_memory_use use;
    if (!is_begun_) return;
    if (const char* const why = peakmark_memory_end(region_, &use)) {
      detail::print_unavailable(why);
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
  std::uint64_t region_ = 0;
  bool is_begun_ = false;
};

}  // namespace memory_1
}  // namespace peakmark
