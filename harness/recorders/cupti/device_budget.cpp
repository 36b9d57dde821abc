#include "recorders/cupti/device_budget.hpp"

#include <algorithm>
#include <cstdio>

namespace peakmark {

void DeviceBudget::apply(std::uint32_t number) {
  if (number >= kMaxDevices) return;
  Device& device = devices_[number];
  if (device.is_done.load(std::memory_order_acquire)) return;
  std::call_once(device.once, [&] {
    occupy(number);
    device.is_done.store(true, std::memory_order_release);
  });
}

void DeviceBudget::occupy(std::uint32_t number) {
  char text[192];
  const auto free = driver_.free_bytes();
  const auto step = driver_.physical_granularity(number);
  if (!free || !step || *step <= 0) {
    std::snprintf(text, sizeof(text),
                  "the budget does not limit device %u: its driver has no cuMemGetInfo or no cuMemCreate",
                  number);
    return sink_.invalid(text);
  }
  if (*free <= bytes_) {
    std::snprintf(text, sizeof(text), "device %u has %lld bytes free, which is within the budget", number,
                  static_cast<long long>(*free));
    return sink_.note(text);
  }
  const std::int64_t asked = (*free - bytes_ + *step - 1) / *step * *step;
  std::int64_t left = asked;
  // What is free may be in parts: smaller pieces find them.
  for (std::int64_t piece = left; left > 0 && piece >= *step;) {
    if (driver_.occupy(number, piece)) {
      left -= piece;
      piece = std::min(piece, left);
    } else {
      piece = piece / 2 / *step * *step;
    }
  }
  devices_[number].occupied.store(asked - left, std::memory_order_relaxed);
  std::snprintf(text, sizeof(text), "%lld bytes of device %u are occupied, because of the budget",
                static_cast<long long>(asked - left), number);
  sink_.note(text);
  const auto still_free = driver_.free_bytes();
  if (left == 0 || !still_free || *still_free <= bytes_) return;
  std::snprintf(text, sizeof(text),
                "device %u has %lld bytes more than the budget, which could not be occupied", number,
                static_cast<long long>(*still_free - bytes_));
  sink_.invalid(text);
}

}  // namespace peakmark
