#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "measure/device/nvml.hpp"

namespace peakmark {

// Decisions from clock samples, without a device or a clock.

/// A block is throttled if its clock is below this share of the max clock (also nvbench's default).
inline constexpr double kThrottledBelow = 0.75;

/// Returns true if heat, a power brake or another hardware slowdown reduces the clocks, or if they are below
/// kThrottledBelow of their maximum and not locked by a user.
bool is_throttled(const ClockSample& sample);

/// Detects from samples of the warm-up when a device has left its idle clocks.
class SteadyClocks {
 public:
  /// Adds a sample that was taken `host_ns` after the warm-up began.
  void add(const ClockSample& sample, double host_ns);
  /// Returns true if the clocks of the last kWindowNs are within kTolerance and not throttled, or after
  /// kLimitNs.
  [[nodiscard]] bool done() const;

  static constexpr double kWindowNs = 20e6;
  static constexpr double kLimitNs = 1e9;
  static constexpr double kTolerance = 0.02;

 private:
  std::deque<std::pair<double, ClockSample>> window_;  ///< the last kWindowNs, and one sample before them
};

/// Decides which blocks of a timing are repeated: up to `max_repeats` throttled blocks. Further throttled
/// blocks are kept, so that a case on a hot device has times.
class ThrottledBlocks {
 public:
  explicit ThrottledBlocks(std::int64_t max_repeats) : max_repeats_(max_repeats) {}

  /// Returns whether a block is kept, from the samples before and after it.
  bool keep(const ClockSample& before, const ClockSample& after);
  [[nodiscard]] std::int64_t throttled() const { return throttled_; }
  /// Returns true if all kept blocks were throttled, and there is at least one.
  [[nodiscard]] bool always_throttled() const { return kept_ > 0 && kept_throttled_ == kept_; }

 private:
  std::int64_t max_repeats_;
  std::int64_t throttled_ = 0;
  std::int64_t repeated_ = 0;
  std::int64_t kept_ = 0;
  std::int64_t kept_throttled_ = 0;
};

}  // namespace peakmark
