#pragma once

#include "measure/device/device.hpp"
#include "measure/device/nvml.hpp"
#include "measure/runfile/observation.hpp"
#include "measure/worker/stopping_rule.hpp"

namespace peakmark {

/// Returns the size of the source of the reference copy in bytes. Source and target together exceed the
/// last-level cache.
Size reference_copy_bytes(const DeviceInfo& device);

/// Times work that never changes: a device copy, and a kernel that only computes. If their times change
/// between runs, the machine has changed. Times are null on `dry`, on a device without a clock, and if there
/// is not enough memory. With `clocks`, warms the device up first, because the clocks of an idle device are
/// slow.
ReferenceTime time_reference_case(backend::Device& device, const StoppingOptions& options,
                                  ClockSource* clocks = nullptr);

/// Decides when to time the reference again between cases, so that it takes at most 1/50 of the run. Times
/// are ns of a monotonic clock.
class ReferenceSchedule {
 public:
  explicit ReferenceSchedule(double start_ns) : next_ns_(start_ns + kTimes * kFirstCost) {}

  [[nodiscard]] bool due(double now_ns) const { return now_ns >= next_ns_; }
  void timed(double begin_ns, double end_ns) { next_ns_ = end_ns + kTimes * (end_ns - begin_ns); }

 private:
  static constexpr double kTimes = 50;
  static constexpr double kFirstCost = 0.1e9;  ///< estimated cost, for the first interval
  double next_ns_;
};

/// Returns the conditions of a reference between cases: three short blocks.
StoppingOptions brief_stopping();

}  // namespace peakmark
