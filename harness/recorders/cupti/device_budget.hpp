#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "recorders/cupti/cuda_driver.hpp"
#include "recorders/cupti/event_sink.hpp"

namespace peakmark {

/// Makes devices as small as the budget ($PEAKMARK_BUDGET). CUPTI shows calls and cannot refuse one, so
/// memory is really occupied until only the budget is free: physical memory (cuMemCreate) without an address,
/// which is not part of the profile and is released when the process ends. Then the driver itself refuses
/// what exceeds the budget, and reports no more memory as free.
///
/// A device is made smaller once, before the first call of the program that allocates or asks for free
/// memory, and after its context has taken what it needs. Rounded up to the driver's granularity (2 MiB), so
/// that the program never has more than the budget. Thread-safe; a thread waits while another one occupies
/// memory of the same device.
class DeviceBudget {
 public:
  DeviceBudget(std::int64_t bytes, CudaDriver& driver, EventSink& sink)
      : bytes_(bytes), driver_(driver), sink_(sink) {}

  /// Call it at the start of such a call, with a context of the device current.
  void apply(std::uint32_t device);
  /// True if memory is occupied: then a lack of memory is due to the budget.
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

/// Has the driver refuse an allocation of the process ($PEAKMARK_REFUSE, `peakmark oom`), or each that is
/// larger than one may be ($PEAKMARK_MAX_ALLOCATION): when the call begins, memory of the device is occupied
/// until the request does not fit. So the driver itself refuses, in whatever way the program got the
/// function. Other processes on the device find it full, too. Memory that the driver needs not take (of a
/// pool that holds some, or managed) is not refused, which a note says.
///
/// Thread-safe; a thread waits while another one occupies memory. Calls that are refused at the same time
/// keep memory occupied until the last one ends, so much that the smallest request does not fit. Another
/// allocation meanwhile may be refused too.
class DriverRefusal {
 public:
  /// What is occupied: all that is free, for this call only ($PEAKMARK_REFUSE_ONCE); or what leaves less than
  /// the request needs, until the process ends, or for each call of more than `max_bytes`.
  enum class Extent : std::uint8_t { this_call, process, large_calls };

  /// `number`: of the allocations that count into the peak, from 1.
  DriverRefusal(std::int64_t number, Extent extent, CudaDriver& driver, EventSink& sink)
      : number_(number), extent_(extent), driver_(driver), sink_(sink) {}
  /// Refuses each allocation of more than `max_bytes`.
  DriverRefusal(std::int64_t max_bytes, CudaDriver& driver, EventSink& sink)
      : max_bytes_(max_bytes), extent_(Extent::large_calls), driver_(driver), sink_(sink) {}

  /// Call it at the start of a call that allocates `bytes` on a device whose context is current.
  void begin(std::uint32_t device, std::int64_t bytes);
  /// Call it at the end of each such call. Returns true if the device has been filled: then a lack of memory
  /// is due to that.
  bool end(std::uint32_t device, bool has_allocated);
  /// Call it for each allocation that counts into the peak.
  void count() { ++made_; }
  /// Returns the limit of which a refusal is.
  [[nodiscard]] RefusedBy limit() const {
    return extent_ == Extent::large_calls ? RefusedBy::max_allocation : RefusedBy::budget;
  }

 private:
  /// A call that began and has not ended.
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
  std::mutex mutex_;  ///< of all below
  bool has_begun_ = false;
  std::vector<RefusedCall> calls_;
  std::optional<std::uint32_t> full_device_;  ///< until the process ends
  std::vector<std::uint64_t> physical_;       ///< what is occupied
  std::vector<std::uint64_t> addresses_;
};

}  // namespace peakmark
