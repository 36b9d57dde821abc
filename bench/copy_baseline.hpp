#pragma once

#include <cstdint>
#include <ctime>
#include <optional>

#include "base/error.hpp"
#include "device/device.hpp"

namespace peakmark {

/// Returns the first OpenCL device. Throws DeviceError if there is none.
Device& bench_device();

/// What a kernel that moves bytes is held against: copies of as many bytes, on the same device, in the same
/// run. Holds two arrays of `bytes` each.
class CopyBaseline {
 public:
  /// `bytes` is a multiple of 4. Throws Unsupported where the device keeps no time.
  CopyBaseline(Device& device, Size bytes);

  /// Nanoseconds of one copy, by the device's clock.
  struct Times {
    std::int64_t command = 0;       ///< the driver's copy (clEnqueueCopyBuffer)
    std::int64_t kernel = 0;        ///< a kernel with a work-item a row
    std::int64_t streamed = 0;      ///< the same, storing past the caches where the compiler can
    std::int64_t streamed_cpu = 0;  ///< of all threads of this process, during the latter
  };
  Times measure();

  [[nodiscard]] Size bytes() const { return from_.bytes(); }

 private:
  Device& device_;
  Array from_, to_;
  Kernel rows_, streamed_;
};

/// Nanoseconds that all threads of this process have run. On a CPU device, programs beside it do not change
/// it much.
inline std::int64_t process_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Nanoseconds that what `enqueue()` enqueues keeps the device busy. Throws Unsupported where it keeps no
/// time.
template <typename Enqueue>
std::int64_t device_time_ns(Device& device, Enqueue&& enqueue) {
  const auto begin = device.time_point();
  enqueue();
  const auto end = device.time_point();
  const std::optional<std::int64_t> elapsed = device.elapsed_ns(*begin, *end);
  if (!elapsed) throw Unsupported("the device keeps no time");
  return *elapsed;
}

}  // namespace peakmark
