#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/size.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

/// All pools of the CUDA driver together, at one moment. Memory of graphs is not in it.
struct PoolPoint {
  std::int64_t time_ns = 0;
  Size held_bytes = 0;       ///< of device memory that the pools hold
  Size requested_bytes = 0;  ///< live requested bytes of allocations from pools

  [[nodiscard]] Size fragmentation_bytes() const { return held_bytes - requested_bytes; }
  bool operator==(const PoolPoint&) const = default;
};

/// What the pools hold over time.
struct PoolUsage {
  PoolPoint at_peak;            ///< at the first moment of the peak of all memory
  PoolPoint max_held;           ///< at the first moment of the maximum of held bytes
  PoolPoint max_fragmentation;  ///< at the first moment of the maximum fragmentation
  PoolPoint at_end;
  std::vector<PoolPoint>
      over_time;  ///< each applies until the next; at most `max_points`, including the extremes
};

/// Returns the usage of the pools; null if there was no pool, if the driver once did not report a pool, or if
/// the events are folded. A pool is sampled after each of its allocations and releases.
std::optional<PoolUsage> pool_usage(std::span<const Event> events, std::size_t max_points);

}  // namespace peakmark
