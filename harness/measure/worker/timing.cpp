#include "measure/worker/timing.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "measure/worker/throttling.hpp"

namespace peakmark {

using backend::Device;

namespace {

// The first call on new memory also maps its pages, and the threads of a CPU device wake up over a few
// milliseconds: until then a short call seems thirty times longer than it is.
constexpr std::int64_t kMinWarmUpCalls = 2;
constexpr std::int64_t kMaxWarmUpCalls = 1000;
constexpr double kWarmUpNs = 5e6;

// Minimum number of throttled blocks that are repeated; with more blocks, as many as there are blocks.
constexpr std::size_t kMinRepeatedBlocks = 3;

// Each round empties the buffers of the records, which takes a millisecond or more.
constexpr std::int64_t kMaxTracedRounds = 5;

std::optional<double> one_interval(Device& device, const std::function<void()>& timed) {
  const auto begin = device.time_point();
  timed();
  const auto end = device.time_point();
  const std::optional<std::int64_t> ns = device.elapsed_ns(*begin, *end);
  if (!ns) return std::nullopt;
  return static_cast<double>(*ns);
}

double host_ns_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

double min_sample_ns(const Device& device) {
  return device.info().is_cpu ? kMinCpuSampleNs : kMinGpuSampleNs;
}

/// Returns whether the clocks are steady, or unknown.
bool clocks_are_steady(ClockSource* clocks, SteadyClocks& steady, double host_ns) {
  if (clocks == nullptr) return true;
  const std::optional<ClockSample> sample = clocks->sample();
  if (!sample) return true;
  steady.add(*sample, host_ns);
  return steady.done();
}

/// Calls until the device is warm and its clocks are steady. Returns the ns per call at the end.
std::optional<double> warm_up(Device& device, const TimedWork& work, ClockSource* clocks) {
  const auto start = std::chrono::steady_clock::now();
  SteadyClocks steady;
  std::int64_t made = 0;
  double spent_ns = 0;
  for (std::int64_t calls = 1;;) {
    const std::optional<double> ns = elapsed_of_calls(device, work, calls);
    if (!ns) return std::nullopt;
    made += calls;
    spent_ns += *ns;
    const bool is_steady = clocks_are_steady(clocks, steady, host_ns_since(start));
    const bool warm = spent_ns >= kWarmUpNs && made >= kMinWarmUpCalls;
    if ((warm || made >= kMaxWarmUpCalls) && is_steady) return *ns / static_cast<double>(calls);
    if (*ns < min_sample_ns(device)) calls *= 2;
  }
}

/// Returns the host time of one call, including the work before it.
double host_ns_of_a_call(Device& device, const TimedWork& work, CacheFlush* flush) {
  device.finish();
  const auto start = std::chrono::steady_clock::now();
  elapsed_of_calls(device, work, 1, flush);
  return host_ns_since(start);
}

/// Samples the clocks around each block.
class BlockClocks {
 public:
  BlockClocks(ClockSource* clocks, std::size_t max_repeats)
      : clocks_(clocks), before_(sample()), blocks_(static_cast<std::int64_t>(max_repeats)) {}

  /// Call it at the end of a block. Returns false if the block must be repeated.
  bool keep_block() {
    const std::optional<ClockSample> after = sample();
    const std::optional<ClockSample> before = std::exchange(before_, after);
    if (!before || !after) return true;
    has_clocks_ = true;
    return blocks_.keep(*before, *after);
  }

  [[nodiscard]] std::optional<std::int64_t> throttled() const {
    return has_clocks_ ? std::optional(blocks_.throttled()) : std::nullopt;
  }
  [[nodiscard]] bool always_throttled() const { return blocks_.always_throttled(); }

 private:
  std::optional<ClockSample> sample() { return clocks_ == nullptr ? std::nullopt : clocks_->sample(); }

  ClockSource* clocks_;
  std::optional<ClockSample> before_;
  ThrottledBlocks blocks_;
  bool has_clocks_ = false;
};

std::int64_t per_call(std::int64_t total, std::int64_t calls) {
  return (total + calls / 2) / calls;
}

/// Adds the records of one round of tracing, kernels by name in the order first seen.
void add_records(std::vector<KernelTime>& sum, const std::vector<KernelTime>& round) {
  for (const KernelTime& kernel : round) {
    const auto known =
        std::find_if(sum.begin(), sum.end(), [&](const KernelTime& one) { return one.name == kernel.name; });
    if (known == sum.end()) {
      sum.push_back(kernel);
    } else {
      known->count += kernel.count;
      known->ns += kernel.ns;
    }
  }
}

/// Records the kernels of calls, except those that restore inputs or flush the cache.
std::vector<KernelTime> trace_kernels(Device& device, const TimedWork& work, std::int64_t calls,
                                      KernelTracer& tracer, CacheFlush* flush) {
  const bool alone = work.restore != nullptr || flush != nullptr;
  const std::int64_t rounds = alone ? std::min(calls, kMaxTracedRounds) : 1;
  const std::int64_t calls_a_round = alone ? 1 : calls;
  std::vector<KernelTime> kernels;
  for (std::int64_t round = 0; round < rounds; ++round) {
    if (work.restore) work.restore();
    if (flush != nullptr) flush->enqueue();
    device.finish();
    tracer.start();
    for (std::int64_t i = 0; i < calls_a_round; ++i) work.call();
    device.finish();
    const std::vector<KernelTime> records = tracer.stop();
    if (records.empty()) return {};  // a sum without this round would be too low
    add_records(kernels, records);
  }
  for (KernelTime& kernel : kernels) {
    kernel.count = per_call(kernel.count, rounds * calls_a_round);
    kernel.ns = per_call(kernel.ns, rounds * calls_a_round);
  }
  return kernels;
}

}  // namespace

std::optional<double> elapsed_of_calls(Device& device, const TimedWork& work, std::int64_t calls,
                                       CacheFlush* flush) {
  if (!work.restore && flush == nullptr) {
    return one_interval(device, [&] {
      for (std::int64_t i = 0; i < calls; ++i) work.call();
    });
  }
  double sum = 0;
  for (std::int64_t i = 0; i < calls; ++i) {
    if (work.restore) work.restore();
    if (flush != nullptr) flush->enqueue();
    const std::optional<double> ns = one_interval(device, work.call);
    if (!ns) return std::nullopt;
    sum += *ns;
  }
  return sum;
}

std::optional<Timing> time_calls(Device& device, const TimedWork& work, const StoppingOptions& options,
                                 const std::optional<TimingPlan>& plan, KernelTracer* tracer,
                                 const TimingConditions& conditions) {
  CacheFlush* const flush = conditions.flush;
  const std::optional<double> call_ns = warm_up(device, work, conditions.clocks);
  if (!call_ns) return std::nullopt;

  Timing timing;
  if (plan) {
    timing.plan.block = plan->block;
  } else if (flush == nullptr) {
    timing.plan.block = plan_blocks(*call_ns, min_sample_ns(device), options);
  } else {
    timing.plan.block = plan_blocks(host_ns_of_a_call(device, work, flush), 0, options);
  }
  StoppingRule rule(options);
  BlockClocks clocks(conditions.clocks, std::max(kMinRepeatedBlocks, options.min_blocks));
  std::vector<std::vector<double>> blocks;
  while (plan ? blocks.size() < plan->blocks : !rule.done()) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<double> samples;
    double block_ns = 0;
    for (std::int64_t i = 0; i < timing.plan.block.samples; ++i) {
      const std::optional<double> ns = elapsed_of_calls(device, work, timing.plan.block.calls, flush);
      if (!ns) return std::nullopt;
      samples.push_back(*ns / static_cast<double>(timing.plan.block.calls));
      block_ns += *ns;
    }
    if (!clocks.keep_block()) continue;
    timing.total_ns += block_ns;
    rule.add(samples, host_ns_since(start));
    blocks.push_back(std::move(samples));
  }
  timing.plan.blocks = blocks.size();
  timing.gpu_time = summarise_blocks(std::move(blocks));
  timing.throttled_blocks = clocks.throttled();
  timing.always_throttled = clocks.always_throttled();

  if (tracer != nullptr) {
    const std::int64_t calls = timing.plan.block.samples * timing.plan.block.calls;
    timing.kernels = trace_kernels(device, work, calls, *tracer, flush);
  }
  return timing;
}

}  // namespace peakmark
