#include "opencl_bench.hpp"

#include <iostream>
#include <memory>

#include "api/abi_device.hpp"
#include "base/error.hpp"
#include "copy_baseline.hpp"

namespace peakmark {

Device& bench_device() {
  static const std::unique_ptr<Device> opened =
      open_device(choose_device({.backend = Backend::opencl, .device = ""}, list_devices()));
  return *opened;
}

const peakmark_device& bench_abi_device() {
  static const peakmark_device abi = abi_device(bench_device());
  return abi;
}

void register_blocks([[maybe_unused]] const std::string& name,
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
  } catch (const std::exception& error) {
    std::cerr << argv[0] << ": " << final_message(error) << '\n';
    return static_cast<int>(exit_code_of(error));
  }
  return 0;
}

}  // namespace peakmark
