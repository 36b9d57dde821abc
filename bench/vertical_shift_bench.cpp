// How much slower than a copy of the stack is a vertical shift? f32, on the first OpenCL device.
//
//   vertical_shift_bench [--benchmark_filter=fused]
//
// Each iteration is a block: copies of the stack's bytes and one shift, of inputs restored outside the timer.
// `over_command` and `over_kernel` are the medians over the blocks of the time of the shift over that of the
// driver's copy and of a row-grained copy kernel; `ratio` is the greater of the two: over the faster copy.
// `spread` is the relative width of its middle half. An answer is verified before it is timed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "copy_baseline.hpp"
#include "kernels/vertical_shift/vertical_shift.hpp"
#include "worker/variant.hpp"

namespace {

using namespace peakmark;

constexpr int kBlocks = 15;

struct Stack {
  Size n_a, n_z, nx;
};

Device& device() {
  static const std::unique_ptr<Device> opened =
      open_device(choose_device({.backend = Backend::opencl, .device = ""}, list_devices()));
  return *opened;
}

const Registry& registry() {
  static const Registry variants = [] {
    Registry all;
    add_vertical_shift(all);
    return all;
  }();
  return variants;
}

double quantile(std::vector<double> values, double fraction) {
  const auto place =
      values.begin() + static_cast<std::ptrdiff_t>(fraction * static_cast<double>(values.size()));
  std::ranges::nth_element(values, place);
  return *place;
}

void shift_stack(benchmark::State& state, const Variant& variant, const Stack& stack,
                 const std::string& pattern) {
  const Parameters parameters({{"n_a", stack.n_a},
                               {"n_z", stack.n_z},
                               {"nx", stack.nx},
                               {"shift", pattern},
                               {"dtype", std::string("f32")}});
  const auto computation = variant.make(device(), parameters);
  computation->set_up();
  computation->create_inputs();
  computation->call();
  if (const Verification verification = computation->verify(); !verification.ok) {
    state.SkipWithError(verification.message.c_str());
    return;
  }
  CopyBaseline baseline(device(), Shape{stack.n_a, stack.n_z, stack.nx}.bytes(DType::f32));
  std::vector<double> over_command, over_kernel;
  for (auto _ : state) {
    computation->restore_inputs();
    const CopyBaseline::Times copies = baseline.measure();
    const auto ns = static_cast<double>(device_time_ns(device(), [&] { computation->call(); }));
    state.SetIterationTime(ns * 1e-9);
    over_command.push_back(ns / static_cast<double>(copies.command));
    over_kernel.push_back(ns / static_cast<double>(copies.kernel));
  }
  const bool kernel_is_faster = quantile(over_kernel, 0.5) > quantile(over_command, 0.5);
  const std::vector<double>& over_faster = kernel_is_faster ? over_kernel : over_command;
  const double ratio = quantile(over_faster, 0.5);
  state.counters["ratio"] = ratio;
  state.counters["spread"] = (quantile(over_faster, 0.75) - quantile(over_faster, 0.25)) / ratio;
  state.counters["over_command"] = quantile(over_command, 0.5);
  state.counters["over_kernel"] = quantile(over_kernel, 0.5);
}

void register_all() {
  for (const Variant& variant : registry().variants())
    for (const Stack& stack : {Stack{1, 4096, 4096}, Stack{20, 1024, 2048}, Stack{50, 511, 613}})
      for (const char* pattern : {"random8", "integer8", "positive4", "negative4", "zero"}) {
        const std::string name = variant.description.name + "/n_a:" + std::to_string(stack.n_a) +
                                 "/n_z:" + std::to_string(stack.n_z) + "/nx:" + std::to_string(stack.nx) +
                                 "/shift:" + pattern;
        benchmark::RegisterBenchmark(name.c_str(),
                                     [&variant, stack, pattern](benchmark::State& state) {
                                       shift_stack(state, variant, stack, pattern);
                                     })
            ->UseManualTime()
            ->Iterations(kBlocks)
            ->Unit(benchmark::kMillisecond);
      }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return static_cast<int>(ExitCode::usage);
  try {
    benchmark::AddCustomContext("device", device().info().name);
    register_all();
    benchmark::RunSpecifiedBenchmarks();
  } catch (const Error& error) {
    std::cerr << "vertical_shift_bench: " << error.what() << '\n';
    return static_cast<int>(error.code());
  }
  return 0;
}
