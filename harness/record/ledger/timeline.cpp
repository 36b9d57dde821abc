#include "record/ledger/timeline.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "record/ledger/replay.hpp"

namespace peakmark {
namespace {

/// Keeps every change until there are more than the maximum, and thins them from then on.
class Thinning {
 public:
  Thinning(std::int64_t from_ns, std::int64_t to_ns, std::size_t max)
      : to_ns_(std::max(from_ns, to_ns)),
        max_(max),
        now_ns_(from_ns),
        thinned_(from_ns, to_ns, std::max<std::size_t>(max / 4, 1)) {
    points_.push_back({from_ns, 0});
  }

  void add(std::int64_t time_ns, Size live_bytes) {
    // The clocks of two threads may contradict the order of the events by some nanoseconds.
    now_ns_ = std::clamp(time_ns, now_ns_, to_ns_);
    const LivePoint point{now_ns_, live_bytes};
    if (is_thinned_) return thinned_.add(point, number_++);
    points_.push_back(point);
    if (points_.size() <= max_) return;
    is_thinned_ = true;
    for (const LivePoint& one : points_) thinned_.add(one, number_++);
  }

  [[nodiscard]] std::vector<LivePoint> points() const {
    if (!is_thinned_) return points_;
    std::vector<LivePoint> points;
    for (const ThinnedValues::Value& value : thinned_.values()) points.push_back(value.point);
    return points;
  }

 private:
  std::int64_t to_ns_;
  std::size_t max_;
  std::int64_t now_ns_;
  bool is_thinned_ = false;
  std::size_t number_ = 0;
  std::vector<LivePoint> points_;
  ThinnedValues thinned_;
};

/// Thins the live bytes of a kind, or of all that counts into the peak.
class Timeline : public ReplayObserver {
 public:
  Timeline(std::span<const Event> events, std::size_t max, std::optional<MemoryKind> kind)
      : events_(events), kind_(kind), thinning_(events.front().time_ns, events.back().time_ns, max) {}

  void allocated(std::size_t i, const LiveMemory& live) { see(i, events_[i].kind, live); }
  void changed(std::size_t i, const LiveMemory& live) { see(i, events_[i].kind, live); }
  void released(std::size_t i, const LiveEntry& entry, const LiveMemory& live) {
    if (events_[i].type == EventType::release) see(i, entry.kind, live);
  }

  [[nodiscard]] std::vector<LivePoint> finish(const LiveMemory& live) const {
    std::vector<LivePoint> points = thinning_.points();
    if (points.back().time_ns < events_.back().time_ns)
      points.push_back({events_.back().time_ns, bytes_of(live)});
    return points;
  }

 private:
  void see(std::size_t i, MemoryKind kind, const LiveMemory& live) {
    if (kind_ ? kind == *kind_ : counts_into_peak(kind)) thinning_.add(events_[i].time_ns, bytes_of(live));
  }
  [[nodiscard]] Size bytes_of(const LiveMemory& live) const {
    return kind_ ? live.bytes(*kind_) : live.bytes();
  }

  std::span<const Event> events_;
  std::optional<MemoryKind> kind_;
  Thinning thinning_;
};

std::vector<LivePoint> timeline_of(std::span<const Event> events, std::size_t max,
                                   std::optional<MemoryKind> kind) {
  if (events.empty()) return {};
  Timeline timeline(events, max, kind);
  const LiveMemory live = replay(events, timeline);
  return timeline.finish(live);
}

}  // namespace

ThinnedValues::ThinnedValues(std::int64_t from_ns, std::int64_t to_ns, std::size_t spans)
    : from_ns_(from_ns),
      length_ns_(std::max<std::int64_t>(to_ns - from_ns, 0) + 1),
      number_of_spans_(spans) {}

void ThinnedValues::add(const LivePoint& point, std::size_t number) {
  if (spans_.empty()) spans_.resize(number_of_spans_);
  const std::int64_t since = std::clamp<std::int64_t>(point.time_ns - from_ns_, 0, length_ns_ - 1);
  const double part = static_cast<double>(since) / static_cast<double>(length_ns_);
  const auto place = static_cast<std::size_t>(part * static_cast<double>(spans_.size()));
  Span& span = spans_[std::min(place, spans_.size() - 1)];
  const Value value{point, number};
  if (!span.has_values) span = {true, value, value, value, value};
  span.last = value;
  if (point.live_bytes < span.lowest.point.live_bytes) span.lowest = value;
  if (point.live_bytes > span.highest.point.live_bytes) span.highest = value;
}

std::vector<ThinnedValues::Value> ThinnedValues::values() const {
  std::vector<Value> values;
  for (const Span& span : spans_) {
    if (!span.has_values) continue;
    std::array<Value, 4> kept{span.first, span.lowest, span.highest, span.last};
    std::ranges::sort(kept, {}, &Value::number);
    // Not std::ranges::unique, because clang 14 cannot compile std::ranges::subrange of GCC 12.
    const auto repeated = std::unique(kept.begin(), kept.end(),
                                      [](const Value& a, const Value& b) { return a.number == b.number; });
    values.insert(values.end(), kept.begin(), repeated);
  }
  return values;
}

std::vector<LivePoint> live_over_time(std::span<const Event> events, std::size_t max) {
  return timeline_of(events, max, std::nullopt);
}

std::vector<LivePoint> live_over_time(std::span<const Event> events, std::size_t max, MemoryKind kind) {
  return timeline_of(events, max, kind);
}

}  // namespace peakmark
