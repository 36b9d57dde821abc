#pragma once

#include <chrono>
#include <cmath>
#include <string>

#include "base/error.hpp"

namespace peakmark::cli {

/// Seconds of an option, at most ten years. UsageError, naming the option, when they are not more than 0.
inline std::chrono::milliseconds milliseconds_of(const std::string& option, double seconds) {
  constexpr double kMaxSeconds = 10.0 * 366 * 24 * 3600;
  if (!(seconds >= 0.001 && seconds <= kMaxSeconds)) {
    throw UsageError(option + ": write seconds, from 0.001 to " +
                     std::to_string(static_cast<long>(kMaxSeconds)));
  }
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

}  // namespace peakmark::cli
