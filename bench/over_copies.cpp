#include "over_copies.hpp"

#include <memory>
#include <vector>

#include "base/quantile.hpp"
#include "copy_baseline.hpp"

namespace peakmark {
namespace {

/// Returns the copies of so many bytes. The last is kept: benchmarks of one size follow each other.
CopyBaseline& baseline_of(Size bytes) {
  static std::unique_ptr<CopyBaseline> baseline;
  if (!baseline || baseline->bytes() != bytes) {
    baseline.reset();
    baseline = std::make_unique<CopyBaseline>(bench_device(), bytes);
  }
  return *baseline;
}

}  // namespace

void time_over_copies(benchmark::State& state, Size copied_bytes, const std::function<void()>& prepare,
                      const std::function<void()>& call) {
  CopyBaseline& baseline = baseline_of(copied_bytes);
  std::vector<double> over_command, over_kernel, over_streamed, cpu_over_streamed;
  while (state.KeepRunning()) {
    prepare();
    const CopyBaseline::Times copies = baseline.measure();
    const std::int64_t cpu_begin = process_cpu_ns();
    const auto ns = static_cast<double>(device_time_ns(bench_device(), call));
    state.SetIterationTime(ns * 1e-9);
    over_command.push_back(ns / static_cast<double>(copies.command));
    over_kernel.push_back(ns / static_cast<double>(copies.kernel));
    over_streamed.push_back(ns / static_cast<double>(copies.streamed));
    cpu_over_streamed.push_back(static_cast<double>(process_cpu_ns() - cpu_begin) /
                                static_cast<double>(copies.streamed_cpu));
  }
  const bool kernel_is_faster = quantile(over_kernel, 0.5) > quantile(over_command, 0.5);
  const std::vector<double>& over_faster = kernel_is_faster ? over_kernel : over_command;
  const double ratio = quantile(over_faster, 0.5);
  state.counters["ratio"] = ratio;
  state.counters["spread"] = (quantile(over_faster, 0.75) - quantile(over_faster, 0.25)) / ratio;
  state.counters["over_command"] = quantile(over_command, 0.5);
  state.counters["over_kernel"] = quantile(over_kernel, 0.5);
  state.counters["over_streamed"] = quantile(over_streamed, 0.5);
  state.counters["cpu_over_streamed"] = quantile(cpu_over_streamed, 0.5);
}

}  // namespace peakmark
