#include "worker/timing.hpp"

#include <algorithm>
#include <chrono>

namespace peakmark {

namespace {

// The first call on new memory pays for its pages, and the threads of a CPU device wake up over some
// milliseconds: until then a short call seems thirty times longer than it is.
constexpr std::int64_t kLeastWarmUpCalls = 2;
constexpr std::int64_t kMostWarmUpCalls = 1000;
constexpr double kWarmUpNs = 5e6;

// Each round empties the buffers of the records, which takes a millisecond or more.
constexpr std::int64_t kMostTracedRounds = 5;

std::optional<double> one_interval(Device& device, const std::function<void()>& work) {
  const auto begin = device.time_point();
  work();
  const auto end = device.time_point();
  const std::optional<std::int64_t> ns = device.elapsed_ns(*begin, *end);
  if (!ns) return std::nullopt;
  return static_cast<double>(*ns);
}

double host_ns_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

/// Calls until the device is warm; ns a call at the end.
std::optional<double> warm_up(Device& device, Computation& computation, bool destroys_input) {
  std::int64_t made = 0;
  double spent_ns = 0;
  for (std::int64_t calls = 1;;) {
    const std::optional<double> ns = elapsed_of_calls(device, computation, destroys_input, calls);
    if (!ns) return std::nullopt;
    made += calls;
    spent_ns += *ns;
    const bool warm = spent_ns >= kWarmUpNs && made >= kLeastWarmUpCalls;
    if (warm || made >= kMostWarmUpCalls) return *ns / static_cast<double>(calls);
    if (*ns < kLeastSampleNs) calls *= 2;
  }
}

std::int64_t per_call(std::int64_t total, std::int64_t calls) {
  return (total + calls / 2) / calls;
}

/// Adds what one round of tracing gave, kernels by name in the order first seen.
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

/// Records of calls alone: what restores an input is work of the device too, and stays outside.
std::vector<KernelTime> trace_kernels(Device& device, Computation& computation, bool destroys_input,
                                      std::int64_t calls, KernelTracer& tracer) {
  const std::int64_t rounds = destroys_input ? std::min(calls, kMostTracedRounds) : 1;
  const std::int64_t calls_a_round = destroys_input ? 1 : calls;
  std::vector<KernelTime> kernels;
  for (std::int64_t round = 0; round < rounds; ++round) {
    if (destroys_input) computation.restore_inputs();
    device.finish();
    tracer.start();
    for (std::int64_t i = 0; i < calls_a_round; ++i) computation.call();
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

std::optional<double> elapsed_of_calls(Device& device, Computation& computation, bool destroys_input,
                                       std::int64_t calls) {
  if (!destroys_input) {
    return one_interval(device, [&] {
      for (std::int64_t i = 0; i < calls; ++i) computation.call();
    });
  }
  double sum = 0;
  for (std::int64_t i = 0; i < calls; ++i) {
    computation.restore_inputs();
    const std::optional<double> ns = one_interval(device, [&] { computation.call(); });
    if (!ns) return std::nullopt;
    sum += *ns;
  }
  return sum;
}

std::optional<Timing> time_calls(Device& device, Computation& computation, bool destroys_input,
                                 const StoppingOptions& options, const std::optional<TimingPlan>& plan,
                                 KernelTracer* tracer) {
  const std::optional<double> call_ns = warm_up(device, computation, destroys_input);
  if (!call_ns) return std::nullopt;

  Timing timing;
  timing.plan.block = plan ? plan->block : plan_blocks(*call_ns, options);
  StoppingRule rule(options);
  std::vector<std::vector<double>> blocks;
  while (plan ? blocks.size() < plan->blocks : !rule.done()) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<double> samples;
    for (std::int64_t i = 0; i < timing.plan.block.samples; ++i) {
      const std::optional<double> ns =
          elapsed_of_calls(device, computation, destroys_input, timing.plan.block.calls);
      if (!ns) return std::nullopt;
      samples.push_back(*ns / static_cast<double>(timing.plan.block.calls));
      timing.total_ns += *ns;
    }
    rule.add(samples, host_ns_since(start));
    blocks.push_back(std::move(samples));
  }
  timing.plan.blocks = blocks.size();
  timing.gpu_time = summarise_blocks(std::move(blocks));

  if (tracer != nullptr) {
    const std::int64_t calls = timing.plan.block.samples * timing.plan.block.calls;
    timing.kernels = trace_kernels(device, computation, destroys_input, calls, *tracer);
  }
  return timing;
}

}  // namespace peakmark
