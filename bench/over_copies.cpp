#include "over_copies.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/quantile.hpp"

namespace peakmark {

Device& bench_device() {
  static const std::unique_ptr<Device> opened =
      open_device(choose_device({.backend = Backend::opencl, .device = ""}, list_devices()));
  return *opened;
}

void time_over_copies(benchmark::State& state, CopyBaseline& baseline, const std::function<void()>& prepare,
                      const std::function<void()>& call) {
  std::vector<double> over_command, over_kernel, over_streamed;
  while (state.KeepRunning()) {
    prepare();
    const CopyBaseline::Times copies = baseline.measure();
    const auto ns = static_cast<double>(device_time_ns(bench_device(), call));
    state.SetIterationTime(ns * 1e-9);
    over_command.push_back(ns / static_cast<double>(copies.command));
    over_kernel.push_back(ns / static_cast<double>(copies.kernel));
    over_streamed.push_back(ns / static_cast<double>(copies.streamed));
  }
  const bool kernel_is_faster = quantile(over_kernel, 0.5) > quantile(over_command, 0.5);
  const std::vector<double>& over_faster = kernel_is_faster ? over_kernel : over_command;
  const double ratio = quantile(over_faster, 0.5);
  state.counters["ratio"] = ratio;
  state.counters["spread"] = (quantile(over_faster, 0.75) - quantile(over_faster, 0.25)) / ratio;
  state.counters["over_command"] = quantile(over_command, 0.5);
  state.counters["over_kernel"] = quantile(over_kernel, 0.5);
  state.counters["over_streamed"] = quantile(over_streamed, 0.5);
}

void register_over_copies([[maybe_unused]] const std::string& name,
                          [[maybe_unused]] const std::function<void(benchmark::State&)>& run) {
#ifndef __clang_analyzer__  // it takes what the library owns for a leak
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->UseManualTime()
      ->Iterations(kBlocks)
      ->Unit(benchmark::kMillisecond);
#endif
}

int bench_main(int argc, char** argv, const std::function<void()>& register_all) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return static_cast<int>(ExitCode::usage);
  try {
    benchmark::AddCustomContext("device", bench_device().info().name);
    register_all();
    benchmark::RunSpecifiedBenchmarks();
  } catch (const Error& error) {
    std::cerr << argv[0] << ": " << error.what() << '\n';
    return static_cast<int>(error.code());
  }
  return 0;
}

}  // namespace peakmark
