#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "measure/device/device.hpp"
#include "measure/device/nvml.hpp"
#include "measure/runfile/observation.hpp"
#include "measure/worker/cache_flush.hpp"
#include "measure/worker/stopping_rule.hpp"

namespace peakmark {

/// Records the times of single kernels, copies and fills, if a recorder can (CUDA). Tracing needs device
/// memory and time, so it is on only during calls made for it.
class KernelTracer {
 public:
  KernelTracer() = default;
  KernelTracer(const KernelTracer&) = delete;
  KernelTracer& operator=(const KernelTracer&) = delete;
  virtual ~KernelTracer() = default;

  virtual void start() = 0;
  /// Returns the kernels by name in the order first seen, summed since `start`; copies and fills have names
  /// in brackets. The caller must have finished the device's work.
  virtual std::vector<KernelTime> stop() = 0;
};

/// The work that is timed.
struct TimedWork {
  std::function<void()> call = nullptr;
  /// Restores inputs that `call` destroys. Called before each call, and not timed. Null: `call` destroys no
  /// input.
  std::function<void()> restore = nullptr;
};

/// How many calls a timing made, so that a repetition can make as many.
struct TimingPlan {
  BlockPlan block;
  std::size_t blocks = 0;
};

/// What happens around the calls of a timing.
struct TimingConditions {
  CacheFlush* flush = nullptr;    ///< evicts the cache before each call (cold); null: calls in a row (hot)
  ClockSource* clocks = nullptr;  ///< null: clocks are unknown, and no block counts as throttled
};

struct Timing {
  TimingPlan plan;
  GpuTime gpu_time;                              ///< ns per call; every sample is kept, outliers too
  std::optional<std::int64_t> throttled_blocks;  ///< includes repeated blocks; null if the clocks are unknown
  bool always_throttled = false;                 ///< all kept blocks were throttled
  double total_ns = 0;                           ///< of all timed calls
  std::vector<KernelTime> kernels;  ///< of one call, averaged over several; empty without a tracer

  [[nodiscard]] std::int64_t calls() const {
    return static_cast<std::int64_t>(plan.blocks) * plan.block.samples * plan.block.calls;
  }
};

/// Times calls with the device's clock: warms up until the clocks are steady, then runs blocks until the
/// stopping rule is met, or exactly the blocks of `plan`. Repeats a limited number of throttled blocks.
/// Returns nullopt if the device has no clock.
std::optional<Timing> time_calls(backend::Device& device, const TimedWork& work,
                                 const StoppingOptions& options, const std::optional<TimingPlan>& plan,
                                 KernelTracer* tracer, const TimingConditions& conditions = {});

/// Returns the ns of `calls` calls between two points of the device's queue. If inputs must be restored or
/// the cache flushed, this happens outside the timer: each call is timed alone and the times are added. Null
/// if the device measures no time.
std::optional<double> elapsed_of_calls(backend::Device& device, const TimedWork& work, std::int64_t calls,
                                       CacheFlush* flush = nullptr);

}  // namespace peakmark
