#pragma once

#include <cstdint>
#include <string_view>

#include "device/device.hpp"

namespace peakmark {

// Inputs made on the device, with exactly the values that seeded.hpp gives on the host. Each call enqueues
// one kernel, which allocates nothing. Throws UsageError for complex dtypes.

/// An array whose elements are those of the pattern `seed`, from element 0 on.
Array create_seeded(Device& device, std::string_view name, const Shape& shape, DType dtype,
                    std::uint32_t seed);

/// `array` becomes elements [first, first + its elements) of the pattern `seed`.
void write_seeded(Device& device, Array& array, std::uint32_t seed, Size first = 0);

/// The noise of a stack of lines: each line is one of `different`, drawn by `order_seed`.
struct NoisePattern {
  std::int32_t different = 1;
  std::uint32_t order_seed = 0;
  std::uint32_t seed = 0;
};
/// `array`, f32, whose last dimension is the line.
void write_noise(Device& device, Array& array, const NoisePattern& pattern);

/// How kernels that make each element by itself share out `count` elements: on a CPU an item makes a run of
/// neighbours, on a GPU one.
struct ItemsOfRuns {
  std::int32_t run;
  Range range;
};
ItemsOfRuns items_of_runs(const Device& device, Size count);

}  // namespace peakmark
