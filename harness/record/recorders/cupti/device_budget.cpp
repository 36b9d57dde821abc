#include "record/recorders/cupti/device_budget.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace peakmark {
namespace {

/// Occupies `bytes` of the device in pieces that are multiples of `step`, from large to small, because the
/// free memory may be fragmented. Returns the bytes that could not be occupied. Calls `taken(physical)` for
/// each piece.
template <typename Taken>
std::int64_t occupy_pieces(CudaDriver& driver, std::uint32_t device, std::int64_t bytes, std::int64_t step,
                           const Taken& taken) {
  std::int64_t left = bytes;
  for (std::int64_t piece = left; left > 0 && piece >= step;) {
    if (const auto physical = driver.occupy(device, piece)) {
      taken(*physical);
      left -= piece;
      piece = std::min(piece, left);
    } else {
      piece = piece / 2 / step * step;
    }
  }
  return left;
}

}  // namespace

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
  const std::int64_t left = occupy_pieces(driver_, number, asked, *step, [](std::uint64_t) {});
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

namespace {

// The driver divides larger pieces among small allocations, so requests below the granularity may succeed
// although no physical memory is free. The driver rounds requests up to the smallest piece.
constexpr std::int64_t kLargestSmallPiece = 1 << 20;
constexpr std::int64_t kSmallestPiece = 512;
constexpr std::size_t kMaxSmallPieces = 8192;

}  // namespace

bool DriverRefusal::is_refused(std::int64_t bytes) const {
  if (extent_ == Extent::large_calls) return bytes > max_bytes_;
  return made_.load(std::memory_order_relaxed) == number_ - 1;
}

bool DriverRefusal::is_full(std::uint32_t device) const {
  return full_device_ == device || std::ranges::find(calls_, device, &RefusedCall::device) != calls_.end();
}

void DriverRefusal::begin(std::uint32_t device, std::int64_t bytes) {
  if (!is_refused(bytes)) return;
  const std::lock_guard lock(mutex_);
  // If several threads make the allocation with this number, only one is refused.
  if (extent_ != Extent::large_calls && std::exchange(has_begun_, true)) return;
  occupy(device, extent_ == Extent::this_call ? 0 : std::max<std::int64_t>(0, bytes - 1));
  calls_.push_back({std::this_thread::get_id(), device});
}

void DriverRefusal::occupy(std::uint32_t device, std::int64_t left_free) {
  const auto free = driver_.free_bytes();
  const auto step = driver_.physical_granularity(device);
  if (!free || !step || *step <= 0)
    return sink_.invalid("no allocation is refused: the driver has no cuMemGetInfo or no cuMemCreate");
  // `kept` is in whole pieces: less than a piece is useful only to small requests, which need no physical
  // memory. Free memory beyond whole pieces also stays free.
  const std::int64_t kept = std::max<std::int64_t>(0, left_free - *free % *step) / *step * *step;
  occupy_pieces(driver_, device, *free / *step * *step - kept, *step,
                [this](std::uint64_t physical) { physical_.push_back(physical); });
  if (kept > 0) return;
  for (std::int64_t piece = kLargestSmallPiece; piece >= kSmallestPiece; piece /= 2) {
    while (addresses_.size() < kMaxSmallPieces) {
      const auto address = driver_.allocate(piece);
      if (!address) break;
      addresses_.push_back(*address);
    }
  }
}

void DriverRefusal::give_back() {
  for (const std::uint64_t address : addresses_) driver_.release(address);
  for (const std::uint64_t physical : physical_) driver_.give_back(physical);
  addresses_.clear();
  physical_.clear();
}

bool DriverRefusal::end(std::uint32_t device, bool has_allocated) {
  const std::lock_guard lock(mutex_);
  const bool was_full = is_full(device);
  const auto own = std::ranges::find(calls_, std::this_thread::get_id(), &RefusedCall::thread);
  if (own == calls_.end()) return was_full;
  calls_.erase(own);
  if (extent_ == Extent::process && !has_allocated) {
    full_device_ = device;
  } else if (calls_.empty()) {
    give_back();
  }
  if (has_allocated) sink_.note("the driver had memory for the allocation that was to be refused");
  return was_full;
}

}  // namespace peakmark
