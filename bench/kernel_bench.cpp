#include "kernel_bench.hpp"

#include <ctime>
#include <iostream>
#include <memory>

#include "base/error.hpp"
#include "copy_source.hpp"
#include "kernels/common/variants.hpp"
#include "statistics/rank_statistics.hpp"
#include "worker/abi.hpp"
#include "worker/variant.hpp"

namespace peakmark {
namespace {

/// Elements (4 bytes each) that a work-item copies: a row of a large image.
constexpr Size kRow = 4096;

/// Returns the CPU time of all threads of this process in ns. Unlike elapsed time, it hardly depends on what
/// other programs do.
std::int64_t process_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Returns how long the device is busy with what `enqueue()` enqueues. Throws Unsupported if it has no clock.
template <typename Enqueue>
std::int64_t device_time_ns(Device& device, Enqueue&& enqueue) {
  const auto begin = device.time_point();
  enqueue();
  const auto end = device.time_point();
  const std::optional<std::int64_t> elapsed = device.elapsed_ns(*begin, *end);
  if (!elapsed) throw Unsupported("the device has no clock");
  return *elapsed;
}

/// Returns the first OpenCL device.
Device& device() {
  static const std::unique_ptr<Device> opened =
      open_device(choose_device({.backend = Backend::opencl, .device = ""}, list_devices()));
  return *opened;
}

/// Copies as a baseline for kernels that move bytes. Holds two arrays of `bytes` each.
class CopyBaseline {
 public:
  /// `bytes` must be a multiple of 4. Throws Unsupported if the device has no clock.
  CopyBaseline(Device& device, Size bytes);

  /// Nanoseconds of one copy, by the device's clock.
  struct Times {
    std::int64_t command = 0;       ///< the driver's copy (clEnqueueCopyBuffer)
    std::int64_t kernel = 0;        ///< a kernel, one work-item per row
    std::int64_t streamed = 0;      ///< the same kernel with non-temporal stores, if the compiler has them
    std::int64_t streamed_cpu = 0;  ///< CPU time of all threads of this process during `streamed`
  };
  Times measure();

  [[nodiscard]] Size bytes() const { return from_.bytes(); }

 private:
  Device& device_;
  Array from_, to_;
  Kernel rows_, streamed_;
};

CopyBaseline::CopyBaseline(Device& device, Size bytes)
    : device_(device),
      from_(device.create("copied from", {bytes / 4}, DType::u32)),
      to_(device.create("copied to", {bytes / 4}, DType::u32)),
      rows_(device.kernel(copy_source(), "copy_rows", DType::u32)),
      streamed_(device.kernel(copy_source(), "copy_rows_streamed", DType::u32)) {
  if (bytes % 4 != 0)
    throw UsageError("size of a copy baseline: " + std::to_string(bytes) + " bytes; use a multiple of 4");
  measure();
}

CopyBaseline::Times CopyBaseline::measure() {
  const Size count = from_.shape().elements();
  const auto kernel_ns = [&](const Kernel& kernel) {
    return device_time_ns(device_, [&] {
      device_.launch(kernel, {.x = (count + kRow - 1) / kRow, .local_x = 16}, {&from_, &to_, count, kRow});
    });
  };
  Times times;
  times.command = device_time_ns(device_, [&] { device_.copy(from_, 0, to_, 0, from_.bytes()); });
  times.kernel = kernel_ns(rows_);
  const std::int64_t cpu_begin = process_cpu_ns();
  times.streamed = kernel_ns(streamed_);
  times.streamed_cpu = process_cpu_ns() - cpu_begin;
  return times;
}

/// Keeps the last baseline, because benchmarks of one size follow each other.
CopyBaseline& copy_baseline(Size bytes) {
  static std::unique_ptr<CopyBaseline> baseline;
  if (!baseline || baseline->bytes() != bytes) {
    baseline.reset();
    baseline = std::make_unique<CopyBaseline>(device(), bytes);
  }
  return *baseline;
}

Registry make_registry(void (*add)(Worker&)) {
  Registry registry;
  registry.add_own(variants_of(add));
  return registry;
}

/// Makes a case, calls it once and verifies it. Returns null, and marks the benchmark as failed, if the
/// answer is wrong.
std::unique_ptr<CaseInstance> verified_case(benchmark::State& state, const RegisteredVariant& variant,
                                            const Parameters& parameters) {
  std::unique_ptr<CaseInstance> instance = variant.make(device(), parameters);
  instance->set_up();
  instance->create_inputs();
  instance->create_outputs();
  instance->call();
  const std::optional<std::string> error = instance->verify();
  if (!error) return instance;
  state.SkipWithError((variant.description.name + ": " + *error).c_str());
  return nullptr;
}

}  // namespace

const peakmark_device& bench_device() {
  static const peakmark_device abi = abi_device(device());
  return abi;
}

void register_blocks([[maybe_unused]] const std::string& name,
                     [[maybe_unused]] const std::function<void(benchmark::State&)>& run) {
#ifndef __clang_analyzer__  // reports the object that the library owns as a leak
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
    benchmark::AddCustomContext("device", device().info().name);
    register_all();
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& error) {
    std::cerr << argv[0] << ": " << final_message(error) << '\n';
    return static_cast<int>(exit_code_of(error));
  }
  return 0;
}

void time_over_copies(benchmark::State& state, Size copied_bytes, const std::function<void()>& prepare,
                      const std::function<void()>& call) {
  CopyBaseline& baseline = copy_baseline(copied_bytes);
  std::vector<double> over_command, over_kernel, over_streamed, cpu_over_streamed;
  while (state.KeepRunning()) {
    prepare();
    const CopyBaseline::Times copies = baseline.measure();
    const std::int64_t cpu_begin = process_cpu_ns();
    const auto ns = static_cast<double>(device_time_ns(device(), call));
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

double BlockTimes::median_ns(std::size_t variant) const {
  return quantile(ns_[variant], 0.5);
}

double BlockTimes::over_first(std::size_t variant, double q) const {
  std::vector<double> ratios;
  for (std::size_t block = 0; block < ns_[0].size(); ++block) {
    ratios.push_back(ns_[variant][block] / ns_[0][block]);
  }
  return quantile(ratios, q);
}

void time_variant_over_copies(benchmark::State& state, void (*add)(Worker&), const std::string& name,
                              const Parameters& parameters, Size copied_bytes) {
  const Registry registry = make_registry(add);
  const std::unique_ptr<CaseInstance> instance = verified_case(state, *registry.find(name), parameters);
  if (!instance) return;
  time_over_copies(
      state, copied_bytes, [&] { instance->restore_inputs(); }, [&] { instance->call(); });
}

std::optional<BlockTimes> time_interleaved(benchmark::State& state, void (*add)(Worker&),
                                           const std::vector<std::string>& variants,
                                           const std::function<void(Parameters&)>& set) {
  const Registry registry = make_registry(add);
  std::vector<std::unique_ptr<CaseInstance>> instances;
  for (const std::string& name : variants) {
    const RegisteredVariant& variant = *registry.find(name);
    Parameters parameters = variant.description.defaults();
    set(parameters);
    instances.push_back(verified_case(state, variant, parameters));
    if (!instances.back()) return std::nullopt;
  }
  BlockTimes times(variants.size());
  for (auto _ : state) {
    for (std::size_t variant = 0; variant < variants.size(); ++variant) {
      instances[variant]->restore_inputs();
      const auto ns = static_cast<double>(device_time_ns(device(), [&] { instances[variant]->call(); }));
      times.add(variant, ns);
      if (variant == 1) state.SetIterationTime(ns * 1e-9);
    }
  }
  state.counters["ratio"] = times.over_first(1);
  state.counters["spread"] = (times.over_first(1, 0.75) - times.over_first(1, 0.25)) / times.over_first(1);
  return times;
}

}  // namespace peakmark
