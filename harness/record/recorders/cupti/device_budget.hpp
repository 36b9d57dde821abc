#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "record/recorders/cupti/cuda_driver.hpp"
#include "record/recorders/cupti/event_sink.hpp"

namespace peakmark {

/// Makes devices as small as the budget ($PEAKMARK_BUDGET). CUPTI reports calls but cannot refuse them, so
/// memory is really occupied until only the budget is free. It is physical memory (cuMemCreate) without an
/// address, which is not part of the profile and is released when the process ends. Then the driver itself
/// refuses allocations beyond the budget, and reports only the budget as free.
///
/// A device is made smaller once, before the program's first call that allocates or queries free memory, and
/// after its context has allocated its own memory. The occupied bytes are rounded up to the driver's
/// granularity (2 MiB), so that the program never has more than the budget. Thread-safe; a thread waits while
/// another one occupies memory of the same device.
class DeviceBudget {
 public:
  DeviceBudget(std::int64_t bytes, CudaDriver& driver, EventSink& sink)
      : bytes_(bytes), driver_(driver), sink_(sink) {}

  /// Occupies the memory. Call it at the start of each such call, with a context of the device current.
  void apply(std::uint32_t device);
  /// Returns true if memory is occupied: a lack of memory is then due to the budget.
  [[nodiscard]] bool limits(std::uint32_t device) const {
    return device < kMaxDevices && devices_[device].occupied.load(std::memory_order_relaxed) > 0;
  }

 private:
  static constexpr std::size_t kMaxDevices = 64;
  struct Device {
    std::once_flag once;
    std::atomic<bool> is_done{false};
    std::atomic<std::int64_t> occupied{0};
  };
  void occupy(std::uint32_t device);

  std::int64_t bytes_;
  CudaDriver& driver_;
  EventSink& sink_;
  std::array<Device, kMaxDevices> devices_;
};

/// Makes the driver refuse one allocation of the process ($PEAKMARK_REFUSE, `peakmark oom`), or each that
/// exceeds a maximum size ($PEAKMARK_MAX_ALLOCATION): when the call begins, memory of the device is occupied
/// until the request does not fit. So the driver itself refuses, however the program obtained the function.
/// Other processes on the device find it full, too. Requests that the driver can serve without new memory
/// (from a pool with free memory, or managed) are not refused; a note says so.
///
/// Thread-safe; a thread waits while another one occupies memory. If several calls are refused at the same
/// time, memory stays occupied until the last one ends, enough to refuse the smallest request. Other
/// allocations during that time may be refused, too.
class DriverRefusal {
 public:
  /// How much is occupied: all free memory, during this call only ($PEAKMARK_REFUSE_ONCE); so much that the
  /// request does not fit, until the process ends; or the same during each call of more than `max_bytes`.
  enum class Extent : std::uint8_t { this_call, process, large_calls };

  /// `number`: index, from 1, of the allocation among those that count into the peak.
  DriverRefusal(std::int64_t number, Extent extent, CudaDriver& driver, EventSink& sink)
      : number_(number), extent_(extent), driver_(driver), sink_(sink) {}
  /// Refuses each allocation of more than `max_bytes`.
  DriverRefusal(std::int64_t max_bytes, CudaDriver& driver, EventSink& sink)
      : max_bytes_(max_bytes), extent_(Extent::large_calls), driver_(driver), sink_(sink) {}

  /// Call it at the start of a call that allocates `bytes` on a device whose context is current.
  void begin(std::uint32_t device, std::int64_t bytes);
  /// Call it at the end of each such call. Returns true if the device has been filled: a lack of memory is
  /// then due to that.
  bool end(std::uint32_t device, bool has_allocated);
  /// Call it for each allocation that counts into the peak.
  void count() { ++made_; }
  /// Returns the limit that causes the refusal.
  [[nodiscard]] RefusedBy limit() const {
    return extent_ == Extent::large_calls ? RefusedBy::max_allocation : RefusedBy::budget;
  }

 private:
  /// A call that has begun and not ended.
  struct RefusedCall {
    std::thread::id thread;
    std::uint32_t device;
  };

  [[nodiscard]] bool is_refused(std::int64_t bytes) const;
  [[nodiscard]] bool is_full(std::uint32_t device) const;
  void occupy(std::uint32_t device, std::int64_t left_free);
  void give_back();

  std::int64_t number_ = 0;
  std::int64_t max_bytes_ = 0;
  Extent extent_;
  CudaDriver& driver_;
  EventSink& sink_;
  std::atomic<std::int64_t> made_{0};
  std::mutex mutex_;  ///< guards all members below
  bool has_begun_ = false;
  std::vector<RefusedCall> calls_;
  std::optional<std::uint32_t> full_device_;  ///< until the process ends
  std::vector<std::uint64_t> physical_;       ///< handles of the occupied memory
  std::vector<std::uint64_t> addresses_;
};

}  // namespace peakmark
