#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/size.hpp"
#include "profile/event.hpp"

namespace peakmark {

/// Live bytes from a moment on.
struct LivePoint {
  std::int64_t time_ns = 0;
  Size live_bytes = 0;
  bool operator==(const LivePoint&) const = default;
};

/// Live bytes over time, of the kinds that count into the peak, as steps: each holds until the next. It
/// begins with 0 at the first event and ends with what is live at the last. Of more than `most` changes only
/// some are kept: in each of most / 4 equal spans of time the first, the least, the most and the last, so
/// that the peak is in it exactly, at its first moment.
std::vector<LivePoint> live_over_time(std::span<const Event> events, std::size_t most);

/// The same of one kind of memory, whether or not it counts into the peak.
std::vector<LivePoint> live_over_time(std::span<const Event> events, std::size_t most, MemoryKind kind);

}  // namespace peakmark
