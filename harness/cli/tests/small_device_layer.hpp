#pragma once

#include <cstdint>

/// The device that small_device_layer.cpp makes.
namespace peakmark::small_device {

inline constexpr std::int64_t kMiB = 1 << 20;
inline constexpr std::int64_t kMemoryBytes = 256 * kMiB;
inline constexpr std::int64_t kMaxAllocationBytes = 200 * kMiB;
inline constexpr std::int64_t kContextBytes = 10 * kMiB;       ///< of one process
inline constexpr std::int64_t kFragmentationBytes = 6 * kMiB;  ///< free, but cannot be allocated

}  // namespace peakmark::small_device
