#pragma once

#include <memory>
#include <optional>

#include "device/device.hpp"
#include "profile/event_source.hpp"

namespace peakmark {

struct DryOptions {
  /// Kernels choose their grain, and some variants their memory, by it: set it as on the device whose
  /// recording the allocation_log shall equal.
  bool is_cpu = false;
  /// The kind under which a recorder would see our arrays: `buffer` on OpenCL, `device` on CUDA.
  MemoryKind kind = MemoryKind::buffer;
  /// What the device holds at most; none: no end.
  std::optional<Size> budget_bytes = std::nullopt;
};

/// Runs the host code of a case and computes nothing: every allocation and release is booked as the event
/// that a recorder would have written. Nothing is compiled, launched, generated or stored, so a shape of any
/// size takes microseconds.
class DryDevice : public Device {
 public:
  /// What was booked so far. Lives as long as the device. Names reach it only when told:
  /// `tell(&allocation_log())`.
  virtual EventSource& allocation_log() = 0;
  /// From now on. Does not touch what is live.
  virtual void set_budget(std::optional<Size> bytes) = 0;
};

std::unique_ptr<DryDevice> open_dry(const DryOptions& options = {});
DeviceInfo dry_device_info(bool is_cpu = false);

}  // namespace peakmark
