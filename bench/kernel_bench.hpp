#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "peakmark/worker_abi.h"
#include "sweep/parameters.hpp"

// Benchmarks of operations on the first OpenCL device. One iteration is one block: it times one call of each
// thing that is compared, so that a change of the machine's speed affects all of them.
// Benchmarks use the classes of the public API; kernel_bench.cpp has the harness.
namespace peakmark {
inline namespace api_1 {
class Worker;
}

/// Blocks of a benchmark.
inline constexpr int kBlocks = 15;

/// Returns the first OpenCL device, to make a Device of. Throws DeviceError if there is none.
const peakmark_device& bench_device();

/// Registers one benchmark of kBlocks blocks.
void register_blocks(const std::string& name, const std::function<void(benchmark::State&)>& run);

/// Is the main function of a benchmark program. Calls `register_all` after it has read the options; returns
/// the exit code.
int bench_main(int argc, char** argv, const std::function<void()>& register_all);

/// Runs the blocks of a benchmark: `prepare` (not timed), copies of `copied_bytes`, one `call`. Throws
/// Unsupported if the device has no clock. Sets these counters, each the median over the blocks of the call's
/// time over that of a copy:
/// - `over_command`: over the driver's copy (clEnqueueCopyBuffer)
/// - `over_kernel`: over a kernel, one work-item per row
/// - `over_streamed`: over the same kernel with non-temporal stores, if the compiler has them
/// - `ratio`: over the faster of command and kernel; `spread` is its interquartile range over `ratio`
/// - `cpu_over_streamed`: as `over_streamed`, in CPU time. Use it for a CPU device on a busy machine.
void time_over_copies(benchmark::State& state, Size copied_bytes, const std::function<void()>& prepare,
                      const std::function<void()>& call);

/// Does so for one case of the variant `name` that `add` adds, after it has verified an answer. Inputs are
/// restored in `prepare`.
void time_variant_over_copies(benchmark::State& state, void (*add)(Worker&), const std::string& name,
                              const Parameters& parameters, Size copied_bytes);

/// Device times in ns of one call of each variant in each block.
class BlockTimes {
 public:
  explicit BlockTimes(std::size_t variants) : ns_(variants) {}
  void add(std::size_t variant, double ns) { ns_[variant].push_back(ns); }
  /// Returns the median over the blocks.
  [[nodiscard]] double median_ns(std::size_t variant) const;
  /// Returns the quantile q over the blocks of a variant's time over that of variant 0 in the same block.
  [[nodiscard]] double over_first(std::size_t variant, double q = 0.5) const;

 private:
  std::vector<std::vector<double>> ns_;  // [variant][block]
};

/// Makes a case of each of the `variants` that `add` adds, with the axes that `set` sets, and verifies it.
/// Then runs the blocks: one call of each variant, with inputs restored outside the timer. The time of an
/// iteration is that of variant 1. Sets the counters `ratio` (the median of variant 1 over variant 0) and
/// `spread` (its interquartile range over `ratio`). Returns nullopt, and marks the benchmark as failed, if a
/// variant computes a wrong answer.
std::optional<BlockTimes> time_interleaved(benchmark::State& state, void (*add)(Worker&),
                                           const std::vector<std::string>& variants,
                                           const std::function<void(Parameters&)>& set);

}  // namespace peakmark
