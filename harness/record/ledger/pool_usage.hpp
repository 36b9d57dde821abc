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
  Size held_bytes = 0;       ///< that the pools hold of the device
  Size requested_bytes = 0;  ///< live requested bytes of allocations from pools

  [[nodiscard]] Size fragmentation_bytes() const { return held_bytes - requested_bytes; }
  bool operator==(const PoolPoint&) const = default;
};

/// What the pools hold over time.
struct PoolUsage {
  PoolPoint at_peak;            ///< at the first moment of the peak of all memory
  PoolPoint max_held;           ///< at the first moment of the most held bytes
  PoolPoint max_fragmentation;  ///< at the first moment of the most fragmentation
  PoolPoint at_end;
  std::vector<PoolPoint>
      over_time;  ///< each holds until the next; at most `max_points`, the extremes among them
};

/// Returns the usage of the pools; null if no pool was seen, the driver did not report one once, or the
/// events are folded. A pool is sampled after each allocation and release of it; moments are those of
/// samples.
std::optional<PoolUsage> pool_usage(std::span<const Event> events, std::size_t max_points);

}  // namespace peakmark
