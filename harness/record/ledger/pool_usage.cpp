#include "record/ledger/pool_usage.hpp"

#include <algorithm>
#include <unordered_map>

#include "record/ledger/ledger.hpp"
#include "record/ledger/replay.hpp"

namespace peakmark {
namespace {

bool is_of_pool(const Event& allocation) {
  return allocation.amounts.auxiliary != 0 && counts_into_peak(allocation.kind);
}

class PoolSamples : public ReplayObserver {
 public:
  explicit PoolSamples(std::span<const Event> events) : events_(events) {}

  void allocated(std::size_t i, const LiveMemory& live) {
    const Event& allocation = events_[i];
    if (is_of_pool(allocation)) now_.requested_bytes += allocation.amounts.bytes;
    if (live.bytes() <= peak_) return;
    peak_ = live.bytes();
    // For an allocation from a pool, the recorder writes the sample after the allocation.
    at_peak_ = now_;
    at_peak_.time_ns = allocation.time_ns;
    is_peak_sampled_ = !is_of_pool(allocation);
  }

  void released(std::size_t /*event*/, const LiveEntry& entry, const LiveMemory& /*live*/) {
    if (is_of_pool(events_[entry.index])) now_.requested_bytes -= entry.bytes;
  }

  void other(std::size_t i, const LiveMemory& /*live*/) {
    const Event& event = events_[i];
    if (event.type != EventType::pool || event.address >= kGraphMemoryPool) return;
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

  [[nodiscard]] const std::vector<PoolPoint>& points() const { return points_; }
  [[nodiscard]] bool is_known() const { return is_known_; }
  [[nodiscard]] const PoolPoint& at_peak() const { return at_peak_; }

 private:
  std::span<const Event> events_;
  std::unordered_map<std::uint64_t, Size> held_;  ///< by pool
  std::vector<PoolPoint> points_;
  PoolPoint now_;
  PoolPoint at_peak_;
  bool is_peak_sampled_ = true;
  bool is_known_ = true;
  Size peak_ = 0;
};

/// Divides the samples into max / 4 equal parts. Keeps of each part the first and the last sample, and those
/// with the most held bytes and the most fragmentation.
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
  PoolSamples samples(events);
  replay(events, samples);
  const std::vector<PoolPoint>& points = samples.points();
  if (points.empty() || !samples.is_known()) return std::nullopt;
  PoolUsage usage;
  usage.at_peak = samples.at_peak();
  usage.max_held = *std::ranges::max_element(points, {}, &PoolPoint::held_bytes);
  usage.max_fragmentation = *std::ranges::max_element(points, {}, &PoolPoint::fragmentation_bytes);
  usage.at_end = points.back();
  usage.over_time = thinned(points, max_points);
  return usage;
}

}  // namespace peakmark
