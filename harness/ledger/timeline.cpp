#include "ledger/timeline.hpp"

#include <algorithm>

#include "ledger/address_map.hpp"

namespace peakmark {
namespace {

/// A span of time of which four points are kept.
class Span {
 public:
  void add(const LivePoint& point, std::uint64_t order) {
    const Kept kept{point, order};
    if (!any_) first_ = least_ = most_ = kept;
    any_ = true;
    last_ = kept;
    if (point.live_bytes < least_.point.live_bytes) least_ = kept;
    if (point.live_bytes > most_.point.live_bytes) most_ = kept;
  }

  void append_to(std::vector<LivePoint>& points) const {
    if (!any_) return;
    Kept all[] = {first_, least_, most_, last_};
    std::ranges::sort(all, {}, &Kept::order);
    for (std::size_t i = 0; i < std::size(all); ++i) {
      if (i == 0 || all[i].order != all[i - 1].order) points.push_back(all[i].point);
    }
  }

 private:
  struct Kept {
    LivePoint point;
    std::uint64_t order = 0;
  };
  bool any_ = false;
  Kept first_, least_, most_, last_;
};

/// Keeps every change while they are few, and spans of time from then on.
class Thinning {
 public:
  Thinning(std::int64_t from_ns, std::int64_t to_ns, std::size_t most)
      : from_ns_(from_ns),
        length_ns_(std::max<std::int64_t>(to_ns - from_ns, 0) + 1),
        most_(most),
        now_ns_(from_ns) {
    points_.push_back({from_ns, 0});
  }

  void add(std::int64_t time_ns, Size live_bytes) {
    // The clocks of two threads may contradict the order of the events by some nanoseconds.
    now_ns_ = std::clamp(time_ns, now_ns_, from_ns_ + length_ns_ - 1);
    const LivePoint point{now_ns_, live_bytes};
    if (!spans_.empty()) return add_to_span(point);
    points_.push_back(point);
    if (points_.size() <= most_) return;
    spans_.resize(std::max<std::size_t>(most_ / 4, 1));
    for (const LivePoint& one : points_) add_to_span(one);
  }

  std::vector<LivePoint> points() const {
    if (spans_.empty()) return points_;
    std::vector<LivePoint> points;
    for (const Span& span : spans_) span.append_to(points);
    return points;
  }

 private:
  void add_to_span(const LivePoint& point) {
    const double part = static_cast<double>(point.time_ns - from_ns_) / static_cast<double>(length_ns_);
    const auto place = static_cast<std::size_t>(part * static_cast<double>(spans_.size()));
    spans_[std::min(place, spans_.size() - 1)].add(point, order_++);
  }

  std::int64_t from_ns_;
  std::int64_t length_ns_;
  std::size_t most_;
  std::int64_t now_ns_;
  std::uint64_t order_ = 0;
  std::vector<LivePoint> points_;
  std::vector<Span> spans_;
};

/// Of the kinds for which `is_counted` holds; `is_said` by those events `live` that say how many bytes are.
template <typename IsCounted, typename IsSaid>
std::vector<LivePoint> live_of(std::span<const Event> events, std::size_t most, IsCounted is_counted,
                               IsSaid is_said) {
  if (events.empty()) return {};
  constexpr std::size_t kLookAhead = 16;
  Thinning thinning(events.front().time_ns, events.back().time_ns, most);
  AddressMap map;
  Size live = 0;
  const auto release = [&](std::uint64_t address) {
    const LiveEntry* entry = map.find(address);
    if (entry == nullptr) return false;
    const bool counted = is_counted(entry->kind);
    if (counted) live -= entry->bytes;
    map.erase(address);
    return counted;
  };
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i + kLookAhead < events.size()) map.prefetch(events[i + kLookAhead].address);
    const Event& event = events[i];
    if (event.type == EventType::allocation) {
      release(event.address);  // its release was lost
      map.insert({event.address, i, event.amounts.bytes, event.kind});
      if (!is_counted(event.kind)) continue;
      live += event.amounts.bytes;
      thinning.add(event.time_ns, live);
    } else if (event.type == EventType::live && is_said(event)) {
      live = event.amounts.bytes;
      thinning.add(event.time_ns, live);
    } else if (event.type == EventType::release && release(event.address)) {
      thinning.add(event.time_ns, live);
    }
  }
  std::vector<LivePoint> points = thinning.points();
  if (points.back().time_ns < events.back().time_ns) points.push_back({events.back().time_ns, live});
  return points;
}

}  // namespace

std::vector<LivePoint> live_over_time(std::span<const Event> events, std::size_t most) {
  return live_of(events, most, counts_into_peak,
                 [](const Event& event) { return event.amounts.result == kLiveOfAll; });
}

std::vector<LivePoint> live_over_time(std::span<const Event> events, std::size_t most, MemoryKind kind) {
  return live_of(
      events, most, [kind](MemoryKind one) { return one == kind; },
      [kind](const Event& event) { return event.amounts.result == kLiveOfKind && event.kind == kind; });
}

}  // namespace peakmark
