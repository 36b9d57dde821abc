#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <vector>

#include "copy_baseline.hpp"

// What the benchmarks of kernels that move bytes have in common.
namespace peakmark {

/// Blocks of such a benchmark: its iterations.
inline constexpr int kBlocks = 15;

/// The first OpenCL device. Throws DeviceError where there is none.
Device& bench_device();

/// Each iteration is a block: `prepare`, outside all timers, then the copies of `baseline` and one `call`.
/// The counters `over_command`, `over_kernel` and `over_streamed` are the medians over the blocks of the time
/// of the call over that of the driver's copy, of a row-grained copy kernel, and of one that stores past the
/// caches; `ratio` is the greater of the first two: over the faster of command and kernel. `spread` is the
/// relative width of its middle half.
void time_over_copies(benchmark::State& state, CopyBaseline& baseline, const std::function<void()>& prepare,
                      const std::function<void()>& call);

/// Registers one benchmark of kBlocks blocks.
void register_over_copies(const std::string& name, const std::function<void(benchmark::State&)>& run);

/// The main function of such a program: `register_all` after its options are read. Returns the exit code.
int bench_main(int argc, char** argv, const std::function<void()>& register_all);

}  // namespace peakmark
