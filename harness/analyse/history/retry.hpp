#pragma once

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "analyse/history/history.hpp"

namespace peakmark::history {

/// Returns waits that begin with one second, double up to 16 s, and add up to `total`.
inline std::vector<std::chrono::milliseconds> backoff_waits(std::chrono::milliseconds total) {
  std::vector<std::chrono::milliseconds> waits;
  std::chrono::milliseconds next = std::chrono::seconds(1);
  while (total.count() > 0) {
    waits.push_back(std::min(next, total));
    total -= waits.back();
    next = std::min<std::chrono::milliseconds>(2 * next, std::chrono::seconds(16));
  }
  return waits;
}

/// Returns the result of `work`. Calls it again after a DatabaseLost, once for each wait; `pause` is called
/// with the error and the wait, and sleeps. Throws the last DatabaseLost, and any other error at once.
template <typename Work, typename Pause>
auto with_retries(const std::vector<std::chrono::milliseconds>& waits, Work&& work, Pause&& pause) {
  for (const std::chrono::milliseconds wait : waits) {
    try {
      return work();
    } catch (const DatabaseLost& error) {
      pause(error, wait);
    }
  }
  return work();
}

}  // namespace peakmark::history
