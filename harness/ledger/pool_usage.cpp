#include "ledger/pool_usage.hpp"

#include <algorithm>
#include <unordered_map>

#include "ledger/ledger.hpp"
#include "ledger/live_memory.hpp"

namespace peakmark {
namespace {

bool is_of_pool(const Event& allocation) {
  return allocation.amounts.auxiliary != 0 && counts_into_peak(allocation.kind);
}

/// One pass over the events.
class PoolReplay {
 public:
  explicit PoolReplay(std::span<const Event> events) : events_(events) {
    for (std::size_t i = 0; i < events.size(); ++i) step(i);
  }

  [[nodiscard]] const std::vector<PoolPoint>& points() const { return points_; }
  [[nodiscard]] bool is_known() const { return is_known_; }
  [[nodiscard]] const PoolPoint& at_peak() const { return at_peak_; }

 private:
  void step(std::size_t i) {
    const Event& event = events_[i];
    switch (event.type) {
      case EventType::allocation:
        end_life(live_.allocate(event, i));
        return see(event);
      case EventType::release:
        return end_life(live_.release(event.address));
      case EventType::pool:
        if (event.address < kGraphMemoryPool) sample(event);
        return;
      default:
        return;
    }
  }

  void see(const Event& allocation) {
    if (is_of_pool(allocation)) now_.requested_bytes += allocation.amounts.bytes;
    if (live_.bytes() <= peak_) return;
    peak_ = live_.bytes();
    // Of an allocation from a pool the sample follows.
    at_peak_ = now_;
    at_peak_.time_ns = allocation.time_ns;
    is_peak_sampled_ = !is_of_pool(allocation);
  }

  void end_life(const std::optional<LiveEntry>& entry) {
    if (entry && is_of_pool(events_[entry->index])) now_.requested_bytes -= entry->bytes;
  }

  void sample(const Event& event) {
    is_known_ = is_known_ && event.amounts.bytes != kUnknownPoolBytes;
    Size& held = held_[event.address];
    now_.held_bytes += event.amounts.bytes - held;
    held = event.amounts.bytes;
    now_.time_ns = event.time_ns;
    points_.push_back(now_);
    if (is_peak_sampled_) return;
    at_peak_.held_bytes = now_.held_bytes;
    is_peak_sampled_ = true;
  }

  std::span<const Event> events_;
  LiveMemory live_;                               // `index` is that of the allocation's event
  std::unordered_map<std::uint64_t, Size> held_;  ///< by pool
  std::vector<PoolPoint> points_;
  PoolPoint now_;
  PoolPoint at_peak_;
  bool is_peak_sampled_ = true;
  bool is_known_ = true;
  Size peak_ = 0;
};

/// Keeps the first, the last, and of each of max / 4 equal runs of samples the most held and the most
/// fragmented one.
std::vector<PoolPoint> thinned(const std::vector<PoolPoint>& points, std::size_t max) {
  if (points.size() <= max) return points;
  const std::size_t runs = std::max<std::size_t>(1, max / 4);
  std::vector<PoolPoint> kept;
  kept.reserve(max);
  for (std::size_t run = 0; run < runs; ++run) {
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(points.size() * run / runs);
    const auto end = points.begin() + static_cast<std::ptrdiff_t>(points.size() * (run + 1) / runs);
    std::vector<std::vector<PoolPoint>::const_iterator> chosen{
        begin, std::ranges::max_element(begin, end, {}, &PoolPoint::held_bytes),
        std::ranges::max_element(begin, end, {}, &PoolPoint::fragmentation_bytes), end - 1};
    std::ranges::sort(chosen);
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (const auto& point : chosen) kept.push_back(*point);
  }
  return kept;
}

}  // namespace

std::optional<PoolUsage> pool_usage(std::span<const Event> events, std::size_t max_points) {
  if (is_folded(events)) return std::nullopt;
  const PoolReplay replay(events);
  const std::vector<PoolPoint>& points = replay.points();
  if (points.empty() || !replay.is_known()) return std::nullopt;
  PoolUsage usage;
  usage.at_peak = replay.at_peak();
  usage.max_held = *std::ranges::max_element(points, {}, &PoolPoint::held_bytes);
  usage.max_fragmentation = *std::ranges::max_element(points, {}, &PoolPoint::fragmentation_bytes);
  usage.at_end = points.back();
  usage.over_time = thinned(points, max_points);
  return usage;
}

}  // namespace peakmark
