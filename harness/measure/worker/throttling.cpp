#include "measure/worker/throttling.hpp"

#include <algorithm>

namespace peakmark {

bool is_throttled(const ClockSample& sample) {
  if (sample.is_slowed) return true;
  return !sample.is_locked && sample.sm_mhz < kThrottledBelow * sample.max_sm_mhz;
}

void SteadyClocks::add(const ClockSample& sample, double host_ns) {
  window_.emplace_back(host_ns, sample);
  while (window_.size() > 1 && window_[1].first <= host_ns - kWindowNs) window_.pop_front();
}

bool SteadyClocks::done() const {
  if (window_.empty()) return false;
  const double now = window_.back().first;
  if (now >= kLimitNs) return true;
  if (window_.front().first > now - kWindowNs) return false;
  const auto by_clock = [](const auto& a, const auto& b) { return a.second.sm_mhz < b.second.sm_mhz; };
  const auto [low, high] = std::minmax_element(window_.begin(), window_.end(), by_clock);
  const bool is_even = low->second.sm_mhz >= (1 - kTolerance) * high->second.sm_mhz;
  return is_even && !is_throttled(window_.back().second);
}

bool ThrottledBlocks::keep(const ClockSample& before, const ClockSample& after) {
  const bool throttled = is_throttled(before) || is_throttled(after);
  if (throttled) ++throttled_;
  if (throttled && repeated_ < max_repeats_) {
    ++repeated_;
    return false;
  }
  ++kept_;
  if (throttled) ++kept_throttled_;
  return true;
}

}  // namespace peakmark
