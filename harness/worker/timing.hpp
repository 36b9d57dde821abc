#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "device/device.hpp"
#include "device/nvml.hpp"
#include "runfile/observation.hpp"
#include "worker/cache_flush.hpp"
#include "worker/stopping_rule.hpp"

namespace peakmark {

/// Records of single kernels, copies and fills, where a recorder can take them (CUDA). Its tracing takes
/// device memory and time: it is on for calls of its own only.
class KernelTracer {
 public:
  KernelTracer() = default;
  KernelTracer(const KernelTracer&) = delete;
  KernelTracer& operator=(const KernelTracer&) = delete;
  virtual ~KernelTracer() = default;

  virtual void start() = 0;
  /// Kernels by name (what is none, in brackets), in the order first seen, summed since `start`. The device
  /// has been finished before.
  virtual std::vector<KernelTime> stop() = 0;
};

/// The work that is timed.
struct TimedWork {
  std::function<void()> call = nullptr;
  /// Restores inputs that `call` destroys. Called before each call, and not timed. Null: it destroys none.
  std::function<void()> restore = nullptr;
};

/// How many calls a timing made, so that it can be made again alike.
struct TimingPlan {
  BlockPlan block;
  std::size_t blocks = 0;
};

/// What is done around the calls of a timing.
struct TimingConditions {
  CacheFlush* flush = nullptr;    ///< evicts the cache before each call (cold); null: calls in a row (hot)
  ClockSource* clocks = nullptr;  ///< null: nothing is known of clocks, and no block counts as throttled
};

struct Timing {
  TimingPlan plan;
  GpuTime gpu_time;                              ///< ns a call; every sample is kept, outliers too
  std::optional<std::int64_t> throttled_blocks;  ///< repeated ones too; null where clocks are unknown
  bool always_throttled = false;                 ///< so was every block that is kept
  double total_ns = 0;                           ///< of all calls timed
  std::vector<KernelTime> kernels;  ///< of one call, on average over several; empty without a tracer

  [[nodiscard]] std::int64_t calls() const {
    return static_cast<std::int64_t>(plan.blocks) * plan.block.samples * plan.block.calls;
  }
};

/// Times calls with the device's clock: warms up until the clocks are steady, then runs blocks until the
/// stopping rule is met, or those of `plan`. Repeats a limited number of throttled blocks. Returns nullopt if
/// the device has no clock.
std::optional<Timing> time_calls(Device& device, const TimedWork& work, const StoppingOptions& options,
                                 const std::optional<TimingPlan>& plan, KernelTracer* tracer,
                                 const TimingConditions& conditions = {});

/// ns of `calls` calls between two points of the device's queue. Inputs that a call destroys are restored,
/// and the cache is flushed, outside the timer, so that each call is then timed alone and the times are
/// added. Null where the device keeps none.
std::optional<double> elapsed_of_calls(Device& device, const TimedWork& work, std::int64_t calls,
                                       CacheFlush* flush = nullptr);

}  // namespace peakmark
