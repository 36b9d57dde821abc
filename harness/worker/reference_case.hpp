#pragma once

#include "device/device.hpp"
#include "device/nvml.hpp"
#include "runfile/observation.hpp"
#include "worker/stopping_rule.hpp"

namespace peakmark {

/// Bytes of the reference copy's source: together with its target more than the last-level cache holds.
Size reference_copy_bytes(const DeviceInfo& device);

/// Work that never changes, timed beside the cases: a device copy and a kernel that only computes.
/// What they do from night to night is the machine's doing. All null on `dry`, and where the device keeps no
/// time; what a device has no room for is null too.
/// With `clocks` the device is warm when it begins: a run's first work would meet idle clocks.
ReferenceTime time_reference_case(Device& device, const StoppingOptions& options,
                                  ClockSource* clocks = nullptr);

/// When to time the reference again between cases, so that it costs at most a fiftieth of the run. It knows
/// no clock: times are ns of a clock that does not go back.
class ReferenceSchedule {
 public:
  explicit ReferenceSchedule(double start_ns) : next_ns_(start_ns + kTimes * kFirstCost) {}

  [[nodiscard]] bool due(double now_ns) const { return now_ns >= next_ns_; }
  void timed(double begin_ns, double end_ns) { next_ns_ = end_ns + kTimes * (end_ns - begin_ns); }

 private:
  static constexpr double kTimes = 50;
  static constexpr double kFirstCost = 0.1e9;  ///< until it is known
  double next_ns_;
};

/// For a reference between cases: three blocks, short ones.
StoppingOptions brief_stopping();

}  // namespace peakmark
