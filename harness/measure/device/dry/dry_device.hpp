#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/size.hpp"
#include "measure/device/device.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

/// Keeps allocations and releases as events, like a recorder, in the memory of this process. Not thread-safe.
class AllocationLog final : public EventSource {
 public:
  AllocationLog(MemoryKind kind, std::optional<Size> budget_bytes, Size refused_allocation = 0,
                std::optional<Size> max_allocation = std::nullopt)
      : kind_(kind),
        budget_(budget_bytes),
        max_allocation_(max_allocation),
        until_refused_(refused_allocation) {}

  /// Returns an address that no other allocation of this log has or had. Logs a failed allocation and throws
  /// OutOfMemoryError beyond the budget or the limit of one allocation, and for the refused allocation.
  /// Throws OverflowError if the live bytes exceed 64 bits.
  std::uint64_t allocate(Size bytes);
  void release(std::uint64_t address, Size bytes);

  void set_budget(std::optional<Size> bytes) { budget_ = bytes; }
  [[nodiscard]] std::optional<Size> budget() const { return budget_; }
  [[nodiscard]] Size live() const { return live_; }

  void phase(std::string_view name) override;
  void name(std::uint64_t address, std::string_view name) override;
  [[nodiscard]] std::uint64_t count() const override { return events_.size(); }
  [[nodiscard]] std::vector<Event> events(std::uint64_t first) override;

 private:
  Event& append(EventType type, MemoryKind kind, std::uint64_t address);
  void append_text(EventType type, std::uint64_t address, std::string_view text);

  MemoryKind kind_;
  std::optional<Size> budget_;
  std::optional<Size> max_allocation_;
  Size until_refused_ =
      0;  ///< allocations left until one is refused, counting that one; 0 or less: none will be
  Size live_ = 0;
  std::uint64_t next_address_ = 1;
  std::vector<Event> events_;
};

struct DryOptions {
  /// Kernels depend on it, and the memory of some variants: set it as on the device that the log shall match.
  bool is_cpu = false;
  /// The kind that a recorder would report for arrays: `buffer` for OpenCL, `device` for CUDA.
  MemoryKind kind = MemoryKind::buffer;
  /// Memory of the device; null: unlimited.
  std::optional<Size> budget_bytes = std::nullopt;
  std::optional<Size> max_allocation = std::nullopt;  ///< bytes of one allocation; null: unlimited
  Size refused_allocation = 0;  ///< index, from 1, of the allocation that fails; 0: none
};

/// A device that runs no kernel and measures no time.
class IdleDevice : public backend::Device {
 public:
  using backend::Device::launch;

  backend::Kernel kernel(const KernelSource& /*source*/, std::string_view /*name*/,
                         DType /*dtype*/) override {
    return backend::Kernel{this};
  }
  void launch(const backend::Kernel& /*kernel*/, const Range& /*range*/,
              std::span<const backend::Argument> /*arguments*/) override {}
  void finish() override {}
  std::unique_ptr<TimePoint> time_point() override { return std::make_unique<TimePoint>(); }
  std::optional<std::int64_t> elapsed_ns(const TimePoint& /*from*/, const TimePoint& /*to*/) override {
    return std::nullopt;
  }
};

/// Runs the host code of a case without computing: logs every allocation and release as the event that a
/// recorder would write. It compiles, launches, generates and stores nothing, so a case of any shape takes
/// microseconds.
class DryDevice : public IdleDevice {
 public:
  /// Returns the events so far; lives as long as the device. Names are logged only after
  /// `set_event_source(&allocation_log())`.
  virtual EventSource& allocation_log() = 0;
  /// Applies to later allocations.
  virtual void set_budget(std::optional<Size> bytes) = 0;
};

std::unique_ptr<DryDevice> open_dry(const DryOptions& options = {});
DeviceInfo dry_device_info(bool is_cpu = false);

}  // namespace peakmark
