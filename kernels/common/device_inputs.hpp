#pragma once

#include <cstdint>
#include <string>

#include "kernels/common/arrays.hpp"

namespace peakmark {

// Inputs made on the device, with exactly the values that seeded.hpp makes on the host. Each call enqueues
// one kernel, which allocates nothing. Throws UsageError for complex element types.

/// Returns an array with the first elements of the pattern `seed`.
DeviceArray create_seeded(Device& device, const std::string& name, const Shape& shape, DType dtype,
                          std::uint32_t seed);

/// Sets `array` to the elements [first, first + its elements) of the pattern `seed`.
void write_seeded(Device& device, DeviceArray& array, std::uint32_t seed, Size first = 0);

/// Noise for a stack of lines: each line is one of `different` lines, chosen by `order_seed`.
struct NoisePattern {
  std::int32_t different = 1;
  std::uint32_t order_seed = 0;
  std::uint32_t seed = 0;
};
/// Sets `array`. It must be f32 (else throws UsageError), and its last dimension is the line.
void write_noise(Device& device, DeviceArray& array, const NoisePattern& pattern);

/// A launch over `count` elements, for kernels that compute each element independently. A work-item makes a
/// run of neighbours on a CPU, and one element on a GPU.
struct ItemsOfRuns {
  std::int32_t run;
  Range range;
};
ItemsOfRuns items_of_runs(const Device& device, Size count);

}  // namespace peakmark
