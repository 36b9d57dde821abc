// How much slower than a copy is padding? One image of 4096² f32, on the first OpenCL device.
//
//   padding_bench [--benchmark_filter=computed]
//
// Each iteration is a block: copies of the output's bytes, three ways, and one padding. `over_command`,
// `over_kernel` and `over_streamed` are the medians over the blocks of the time of padding over that of the
// driver's copy, of a row-grained copy kernel, and of one that stores past the caches. `ratio` is the greater
// of the first two: over the faster of command and kernel. `spread` is the relative width of its middle half.
// An answer is verified before it is timed.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "copy_baseline.hpp"
#include "kernels/padding/computation.hpp"

namespace {

using namespace peakmark;

constexpr Size kSide = 4096;
constexpr int kBlocks = 15;

Device& device() {
  static const std::unique_ptr<Device> opened =
      open_device(choose_device({.backend = Backend::opencl, .device = ""}, list_devices()));
  return *opened;
}

/// The one that was used last is kept: benchmarks of one size follow each other.
CopyBaseline& baseline_of(Size bytes) {
  static std::unique_ptr<CopyBaseline> baseline;
  if (!baseline || baseline->bytes() != bytes) {
    baseline.reset();
    baseline = std::make_unique<CopyBaseline>(device(), bytes);
  }
  return *baseline;
}

double quantile(std::vector<double> values, double fraction) {
  const auto place =
      values.begin() + static_cast<std::ptrdiff_t>(fraction * static_cast<double>(values.size()));
  std::ranges::nth_element(values, place);
  return *place;
}

using Make = std::unique_ptr<PaddingComputation> (*)(Device&, PaddingProblem, KernelGrain);

void pad_image(benchmark::State& state, Make make, const PaddingProblem& problem) {
  const auto computation = make(device(), problem, grain_for(device().info()));
  computation->set_up();
  computation->create_inputs();
  computation->create_outputs();
  computation->call();
  if (const Verification verification = computation->verify(); !verification.ok) {
    state.SkipWithError(verification.message.c_str());
    return;
  }
  CopyBaseline& baseline = baseline_of(problem.output_shape().bytes(problem.dtype));
  std::vector<double> over_command, over_kernel, over_streamed;
  while (state.KeepRunning()) {
    const CopyBaseline::Times copies = baseline.measure();
    const auto ns = static_cast<double>(device_time_ns(device(), [&] { computation->call(); }));
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

struct Pads {
  std::string name;
  Size y0, y1, x0, x1;
};

PaddingProblem problem_of(PaddingMode mode, const Pads& pads) {
  Parameters parameters({{"mode", std::string(name_of(mode))},
                         {"n", Size{1}},
                         {"ny", kSide},
                         {"nx", kSide},
                         {"pad_y0", pads.y0},
                         {"pad_y1", pads.y1},
                         {"pad_x0", pads.x0},
                         {"pad_x1", pads.x1},
                         {"dtype", std::string("f32")}});
  return padding_problem(parameters);
}

/// `custom` coordinates without any order, the worst there are.
PaddingProblem scattered(const Pads& pads) {
  PaddingProblem problem = problem_of(PaddingMode::custom, pads);
  std::mt19937_64 random(1);
  for (Size& row : problem.rows) row = static_cast<Size>(random() % kSide);
  for (Size& column : problem.columns) column = static_cast<Size>(random() % kSide);
  return problem;
}

void register_one([[maybe_unused]] const std::string& name, [[maybe_unused]] Make make,
                  [[maybe_unused]] const PaddingProblem& problem) {
#ifndef __clang_analyzer__  // it takes what the library owns for a leak
  benchmark::RegisterBenchmark(name.c_str(),
                               [make, problem](benchmark::State& state) { pad_image(state, make, problem); })
      ->UseManualTime()
      ->Iterations(kBlocks)
      ->Unit(benchmark::kMillisecond);
#endif
}

void register_all() {
  const std::pair<std::string, Make> variants[] = {
      {"computed", make_computed}, {"coords1d", make_coords1d}, {"coords2d", make_coords2d}};
  const Pads all_pads[] = {{"half", 2048, 2048, 2048, 2048}, {"16", 16, 16, 16, 16}, {"odd", 7, 15, 3, 10}};
  for (const Pads& pads : all_pads)
    for (const auto& [variant, make] : variants) {
      const auto name = [&pads, &variant = variant](std::string_view mode) {
        return fmt::format("padding/{}/mode:{}/pads:{}", variant, mode, pads.name);
      };
      for (const std::string& mode : padding_mode_names())
        register_one(name(mode), make, problem_of(parse_padding_mode(mode), pads));
      register_one(name("custom_scattered"), make, scattered(pads));
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
    std::cerr << "padding_bench: " << error.what() << '\n';
    return static_cast<int>(error.code());
  }
  return 0;
}
