#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"
#include "kernels/common/variants.hpp"
#include "measure/device/dry/dry_device.hpp"
#include "measure/worker/trial.hpp"
#include "measure/worker/variant.hpp"
#include "record/recorders/recorder_libraries.hpp"
#include "selftest/selftest_variants.hpp"

// Measures the overhead of the harness per case: a memory-only trial against the same steps of the
// computation without it. Runs on `dry`, and on OpenCL if OPENCL_LAYERS, PEAKMARK_RECORDER_LIBRARY and
// PEAKMARK_PROFILE are set as for a worker:
//   L=$PWD/build/release/lib/peakmark/libpeakmark-opencl.so
//   export OPENCL_LAYERS=$L PEAKMARK_RECORDER_LIBRARY=$L PEAKMARK_PROFILE=$PWD/build/profile
//   build/release/bench/harness_bench
namespace {

using namespace peakmark;

void bare_steps(backend::Device& device, const RegisteredVariant& variant, const Parameters& parameters) {
  for (const bool verify : {!device.is_dry(), false}) {  // two passes, as a trial makes
    const auto instance = variant.make(device, parameters);
    instance->set_up();
    instance->create_inputs();
    instance->create_outputs();
    instance->call();
    instance->call();
    device.finish();
    if (verify) benchmark::DoNotOptimize(instance->verify());
  }
}

void add(const std::string& backend, backend::Device& device, EventSource& events,
         const RegisteredVariant& variant) {
  const Parameters parameters = variant.description.defaults();
  benchmark::RegisterBenchmark(("bare/" + backend).c_str(), [=, &device, &variant](benchmark::State& state) {
    for (auto _ : state) bare_steps(device, variant, parameters);
  })->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark(("trial/" + backend).c_str(), [=, &device, &events,
                                                              &variant](benchmark::State& state) {
    for (auto _ : state) {
      const SweepCase sweep_case{variant.description.name, backend, parameters};
      Trial trial(device, &events, variant, sweep_case, "case", {});
      trial.measure_memory();
      trial.ask_estimators();
      if (trial.observation().outcome != Outcome::ok) {
        state.SkipWithError(trial.observation().message.c_str());
        break;
      }
    }
  })->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  Registry registry;
  registry.add_own(variants_of(selftest::add_known_bytes));
  const RegisteredVariant& variant = registry.variants().front();
  const std::unique_ptr<DryDevice> dry = open_dry();
  add("dry", *dry, dry->allocation_log(), variant);

  std::unique_ptr<backend::Device> opencl;
  std::unique_ptr<EventSource> recorder;
  if (const char* library = std::getenv("PEAKMARK_RECORDER_LIBRARY")) {
    try {
      opencl = open_device(choose_device({Backend::opencl, ""}, list_devices()));
      recorder = attach_recorder(library);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "harness_bench: %s\n", final_message(error).c_str());
      return static_cast<int>(exit_code_of(error));
    }
    add("opencl", *opencl, *recorder, variant);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
