#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>

#include "peakmark/worker_abi.h"

// What the benchmarks of kernels have in common: a device, and iterations that are blocks of calls.
namespace peakmark {

/// Blocks of such a benchmark: its iterations.
inline constexpr int kBlocks = 15;

/// Returns the first OpenCL device, for a Device of the public API. Throws DeviceError if there is none.
const peakmark_device& bench_abi_device();

/// Registers one benchmark of kBlocks blocks.
void register_blocks(const std::string& name, const std::function<void(benchmark::State&)>& run);

/// The main function of such a program: `register_all` after its options are read. Returns the exit code.
int bench_main(int argc, char** argv, const std::function<void()>& register_all);

}  // namespace peakmark
