// Measures padding relative to a copy of the output's bytes. One image of 64 MiB (4096² for f32), first
// OpenCL device.
//
//   padding_bench [--benchmark_filter=computed]
//
// time_over_copies() describes the counters. An answer is verified before it is timed.
#include <fmt/format.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernel_bench.hpp"
#include "kernels/common/case_testing.hpp"
#include "kernels/padding/computation.hpp"

namespace {

using namespace peakmark;

constexpr Size kSide = 4096;

Device& device() {
  static Device opened(bench_device());
  return opened;
}

using Make = std::unique_ptr<PaddingComputation> (*)(Device&, PaddingProblem, KernelGrain);

void pad_image(benchmark::State& state, Make make, const PaddingProblem& problem) {
  const auto computation = make(device(), problem, grain_for(device()));
  computation->set_up();
  computation->create_inputs();
  computation->create_outputs();
  computation->call();
  if (const std::string wrong = computation->verify(); !wrong.empty()) {
    state.SkipWithError(wrong.c_str());
    return;
  }
  time_over_copies(
      state, problem.output_shape().bytes(problem.dtype) / 4 * 4, [] {}, [&] { computation->call(); });
}

struct Pads {
  std::string name;
  Size y0, y1, x0, x1;
};

PaddingProblem problem_of(PaddingMode mode, const Pads& pads, DType dtype = DType::f32) {
  Parameters parameters({{"mode", std::string(to_string(mode))},
                         {"n", Size{1}},
                         {"ny", kSide * 4 / size_of(dtype)},
                         {"nx", kSide},
                         {"pad_y0", pads.y0},
                         {"pad_y1", pads.y1},
                         {"pad_x0", pads.x0},
                         {"pad_x1", pads.x1},
                         {"dtype", std::string(to_string(dtype))}});
  return padding_problem(make_case(parameters));
}

/// Returns random `custom` coordinates: the slowest case.
PaddingProblem scattered(const Pads& pads) {
  PaddingProblem problem = problem_of(PaddingMode::custom, pads);
  std::mt19937_64 random(1);
  for (Size& row : problem.rows) row = static_cast<Size>(random() % kSide);
  for (Size& column : problem.columns) column = static_cast<Size>(random() % kSide);
  return problem;
}

void register_one(const std::string& name, Make make, const PaddingProblem& problem) {
  register_blocks(name, [make, problem](benchmark::State& state) { pad_image(state, make, problem); });
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
  for (const DType dtype : {DType::u8, DType::u16, DType::f64})
    for (const auto& [variant, make] : {variants[0], variants[1]})
      for (const std::string& mode : padding_mode_names())
        register_one(fmt::format("padding/{}/mode:{}/pads:odd/dtype:{}", variant, mode, to_string(dtype)),
                     make, problem_of(parse_padding_mode(mode), all_pads[2], dtype));
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, register_all);
}
