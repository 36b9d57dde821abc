#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "device/nvml.hpp"

namespace peakmark {

// Judgements of clock samples. They know no device and no clock: tests feed them samples.

/// A block counts as throttled below this part of the highest clock (nvbench's default too).
inline constexpr double kThrottledBelow = 0.75;

/// True where heat, a power brake or another hardware slowdown holds the clocks down, or they are below
/// kThrottledBelow of their maximum and nobody locked them there.
bool is_throttled(const ClockSample& sample);

/// Tells when a device has left its idle clocks: fed with samples during the warm-up.
class SteadyClocks {
 public:
  /// A sample that was taken `host_ns` after the warm-up began.
  void add(const ClockSample& sample, double host_ns);
  /// The clocks of the last kWindowNs are within kTolerance and not throttled, or kLimitNs are over.
  [[nodiscard]] bool done() const;

  static constexpr double kWindowNs = 20e6;
  static constexpr double kLimitNs = 1e9;
  static constexpr double kTolerance = 0.02;

 private:
  std::deque<std::pair<double, ClockSample>> window_;  ///< the last kWindowNs, and one sample before them
};

/// Which blocks of a timing are taken again. A throttled block is repeated, up to `max_repeats` of them;
/// after that throttled blocks are kept, so that a case on a hot device has times at all.
class ThrottledBlocks {
 public:
  explicit ThrottledBlocks(std::int64_t max_repeats) : max_repeats_(max_repeats) {}

  /// Returns whether a block with these samples around it is kept.
  bool keep(const ClockSample& before, const ClockSample& after);
  [[nodiscard]] std::int64_t throttled() const { return throttled_; }
  /// Blocks were kept, and every one of them was throttled.
  [[nodiscard]] bool always_throttled() const { return kept_ > 0 && kept_throttled_ == kept_; }

 private:
  std::int64_t max_repeats_;
  std::int64_t throttled_ = 0;
  std::int64_t repeated_ = 0;
  std::int64_t kept_ = 0;
  std::int64_t kept_throttled_ = 0;
};

}  // namespace peakmark
