// Measures the search of formulas: 200 allocations at 64 shapes must take at most 1 s.
#include <benchmark/benchmark.h>

#include <random>

#include "analyse/explain/derive/explain.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kShapes = 64;
constexpr int kAllocations = 200;

// Shapes as `explain` chooses them: a base, one axis at a time, then pairs; every fourth is held out and
// varies all axes.
Shapes bench_shapes() {
  Shapes shapes{{{"n", {}}, {"ny", {}}, {"nx", {}}, {"pad", {}}}};
  const std::vector<Size> base{5, 31, 41, 7};
  const std::vector<Size> steps{1, 2, 6, 11, 24, 33, 50};
  std::mt19937_64 random(3);
  std::size_t axis = 0;
  for (std::size_t shape = 0; shape < kShapes; ++shape) {
    std::vector<Size> values = base;
    if (shape % 4 == 3) {
      for (Size& value : values) value += static_cast<Size>(random() % 90);
    } else if (shape < 40) {
      values[axis % 4] += steps[axis / 4 % steps.size()];
      ++axis;
    } else {
      values[axis % 4] += 13;
      values[(axis / 4 + axis + 1) % 4] += steps[axis % steps.size()];
      ++axis;
    }
    for (std::size_t i = 0; i < values.size(); ++i) shapes.axes[i].values.push_back(values[i]);
  }
  return shapes;
}

Size power_from(Size least) {
  Size power = 1;
  while (power < least) power *= 2;
  return power;
}

// Forms that occur in programs, each with its own element size.
Size bench_bytes(int allocation, Size n, Size ny, Size nx, Size pad) {
  const Size element = 4 + 4 * (allocation / 8);
  switch (allocation % 8) {
    case 0:
      return element * n * ny * nx;
    case 1:
      return element * (ny + 2 * pad) * (nx + 2 * pad);
    case 2:
      return element * n * (power_from(2 * nx) / 2 + 1);
    case 3:
      return element * (ny + pad) + 1024;
    case 4:
      return (element * ny * nx + 511) / 512 * 512;
    case 5:
      return element * n * ny * (nx + 1);
    case 6:
      return element * ny * nx + 8 * n * nx;
    default:
      return element;
  }
}

void fit_allocations(benchmark::State& state) {
  const Shapes shapes = bench_shapes();
  std::vector<AllocationSequence> sequences(kShapes);
  for (std::size_t shape = 0; shape < kShapes; ++shape) {
    const auto value = [&](std::size_t axis) { return shapes.axes[axis].values[shape]; };
    for (int i = 0; i < kAllocations; ++i) {
      sequences[shape].push_back({"allocation " + std::to_string(i), "call 1", "",
                                  bench_bytes(i, value(0), value(1), value(2), value(3)), i, std::nullopt});
    }
  }
  Size unexplained = 0;
  for (auto _ : state) {
    const Explanation explanation = explain(shapes, {sequences.begin(), sequences.end()});
    unexplained = explanation.unexplained_bytes;
  }
  state.counters["unexplained_bytes"] = static_cast<double>(unexplained);
}
BENCHMARK(fit_allocations)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace peakmark

BENCHMARK_MAIN();
