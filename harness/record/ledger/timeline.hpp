#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/size.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

/// Live bytes from a moment on.
struct LivePoint {
  std::int64_t time_ns = 0;
  Size live_bytes = 0;
  bool operator==(const LivePoint&) const = default;
};

/// Keeps the first, lowest, highest and last value in each of several equal spans of time. Values are added
/// in the order of time; those outside of [from_ns, to_ns] belong to the first or the last span.
class ThinnedValues {
 public:
  /// A value and the number with which it was added.
  struct Value {
    LivePoint point;
    std::size_t number = 0;
  };

  ThinnedValues(std::int64_t from_ns, std::int64_t to_ns, std::size_t spans);

  void add(const LivePoint& point, std::size_t number);

  /// Returns the values that were kept, each once, in the order of their numbers.
  [[nodiscard]] std::vector<Value> values() const;

 private:
  struct Span {
    bool has_values = false;
    Value first;
    Value lowest;
    Value highest;
    Value last;
  };

  std::int64_t from_ns_;
  std::int64_t length_ns_;
  std::size_t number_of_spans_;
  std::vector<Span> spans_;  // empty until a value comes
};

/// Returns the live bytes over time of the kinds that count into the peak, as steps: each point holds until
/// the next. The first point is 0 at the first event, the last has the live bytes at the last event. More
/// than `max` changes are thinned to max / 4 equal spans of time (ThinnedValues): the peak is kept exactly,
/// at its first moment.
std::vector<LivePoint> live_over_time(std::span<const Event> events, std::size_t max);

/// Returns the same for one kind of memory, whether or not it counts into the peak.
std::vector<LivePoint> live_over_time(std::span<const Event> events, std::size_t max, MemoryKind kind);

}  // namespace peakmark
