#pragma once

#include <memory>
#include <optional>

#include "device/device.hpp"

namespace peakmark {

/// The clocks of a device at one moment.
struct ClockSample {
  unsigned sm_mhz = 0;
  unsigned max_sm_mhz = 0;
  bool is_slowed = false;  ///< by heat, a power brake or another hardware slowdown
  bool is_locked = false;  ///< somebody set clocks below the maximum on purpose
};

/// Where clocks are read from: NVML, or a fake in tests.
class ClockSource {
 public:
  ClockSource() = default;
  ClockSource(const ClockSource&) = delete;
  ClockSource& operator=(const ClockSource&) = delete;
  virtual ~ClockSource() = default;

  /// Null where the clocks cannot be read.
  virtual std::optional<ClockSample> sample() = 0;
};

/// Returns NVML's clocks of this device. Null where there is no NVML, or it does not know which GPU is meant.
std::unique_ptr<ClockSource> open_clock_source(const DeviceInfo& device);

}  // namespace peakmark
