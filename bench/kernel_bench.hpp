#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "worker/variant.hpp"

// Benchmarks of operations on the first OpenCL device. One iteration is one block: it times one call of each
// thing that is compared, so that a change of the machine's speed affects all of them.
namespace peakmark {

/// Blocks of a benchmark.
inline constexpr int kBlocks = 15;

/// Returns the first OpenCL device. Throws DeviceError if there is none.
Device& bench_device();

/// Registers one benchmark of kBlocks blocks.
void register_blocks(const std::string& name, const std::function<void(benchmark::State&)>& run);

/// Is the main function of a benchmark program. Calls `register_all` after it has read the options; returns
/// the exit code.
int bench_main(int argc, char** argv, const std::function<void()>& register_all);

/// Copies as a baseline for kernels that move bytes. Holds two arrays of `bytes` each.
class CopyBaseline {
 public:
  /// `bytes` must be a multiple of 4. Throws Unsupported if the device has no clock.
  CopyBaseline(Device& device, Size bytes);

  /// Nanoseconds of one copy, by the device's clock.
  struct Times {
    std::int64_t command = 0;       ///< the driver's copy (clEnqueueCopyBuffer)
    std::int64_t kernel = 0;        ///< a kernel, one work-item per row
    std::int64_t streamed = 0;      ///< the same kernel with non-temporal stores, if the compiler has them
    std::int64_t streamed_cpu = 0;  ///< CPU time of all threads of this process during `streamed`
  };
  Times measure();

  [[nodiscard]] Size bytes() const { return from_.bytes(); }

 private:
  Device& device_;
  Array from_, to_;
  Kernel rows_, streamed_;
};

/// Runs the blocks of a benchmark: `prepare` (not timed), the copies of `baseline`, one `call`. Sets these
/// counters, each the median over the blocks of the call's time over that of a copy:
/// - `over_command`, `over_kernel`, `over_streamed`: over the copies of CopyBaseline::Times
/// - `ratio`: over the faster of command and kernel; `spread` is its interquartile range over `ratio`
/// - `cpu_over_streamed`: as `over_streamed`, in CPU time. Use it for a CPU device on a busy machine.
void time_over_copies(benchmark::State& state, CopyBaseline& baseline, const std::function<void()>& prepare,
                      const std::function<void()>& call);

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

/// Verifies each variant, then runs the blocks: one call of each variant, with inputs restored outside the
/// timer. The time of an iteration is that of variant 1. Sets the counters `ratio` (the median of variant 1
/// over variant 0) and `spread` (its interquartile range over `ratio`). Returns nullopt, and marks the
/// benchmark as failed, if a variant computes a wrong answer.
std::optional<BlockTimes> time_interleaved(benchmark::State& state, const Registry& registry,
                                           const std::vector<std::string>& variants,
                                           const std::function<Parameters(const Variant&)>& parameters);

}  // namespace peakmark
