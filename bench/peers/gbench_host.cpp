// Measures peakmark's kernels with plain Google Benchmark, for bench/peers/google_benchmark.py, which
// interleaves it with peakmark.
//
//   gbench_host CASE [--benchmark_…]
//
// Runs two benchmarks on the first device: `copy`, which is peakmark's reference case (64 MiB on a CPU), and
// CASE. An iteration enqueues one call and waits for it; the clock is that of the host.
#include <benchmark/benchmark.h>

#include <iostream>
#include <memory>

#include "base/error.hpp"
#include "device/device.hpp"
#include "kernels/operations.hpp"
#include "sweep/description.hpp"
#include "worker/variant.hpp"

namespace {

using namespace peakmark;

constexpr Size kCopiedBytes = Size{64} << 20;

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) throw UsageError("gbench_host CASE [--benchmark_…]");
  Registry registry;
  add_operations(registry);
  const std::string name = argv[1];
  const Case sweep_case = parse_case(name, registry.describe());
  const std::unique_ptr<Device> device = open_device(choose_device({}, list_devices()));

  const Array from = device->create("from", {kCopiedBytes}, DType::u8);
  Array to = device->create("to", {kCopiedBytes}, DType::u8);
  benchmark::RegisterBenchmark("copy", [&](benchmark::State& state) {
    for (auto _ : state) {
      device->copy(from, 0, to, 0, kCopiedBytes);
      device->finish();
    }
  })->UseRealTime();

  const std::unique_ptr<CaseInstance> instance =
      registry.find(sweep_case.variant)->make(*device, sweep_case.parameters);
  instance->set_up();
  instance->create_inputs();
  instance->create_outputs();
  device->finish();
  benchmark::RegisterBenchmark(name.c_str(), [&](benchmark::State& state) {
    for (auto _ : state) {
      instance->call();
      device->finish();
    }
  })->UseRealTime();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "gbench_host: " << error.what() << "\n";
    return 2;
  }
}
