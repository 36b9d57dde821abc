#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "measure/device/device.hpp"

namespace peakmark {

/// Throws if `result` is not cudaSuccess: OutOfMemoryError (cleared: the context stays usable),
/// UnsupportedError if the device lacks the feature, otherwise MeasurementError. Its message says whether the
/// context is lost; then the process must end. `what` is the attempted action, such as "allocate 24 MiB".
void check_cuda(cudaError_t result, std::string_view what);

/// Returns true if the context and all its device memory are lost: every further call fails with the same
/// error.
bool is_context_lost(cudaError_t result);

/// Returns why there is no device, from the results of cudaGetDeviceCount and cudaDriverGetVersion (0: no
/// driver). The runtime's own text is misleading: without a driver it reports that the driver is too old.
std::string cuda_absence(cudaError_t result, int driver_version);

/// Threads of a block and blocks of a grid along x, y, z.
struct LaunchShape {
  std::uint32_t block_x = 1, block_y = 1, block_z = 1;
  std::uint32_t grid_x = 1, grid_y = 1, grid_z = 1;
};

/// Returns the launch that covers `range`, rounded up to whole blocks; null if `range` has no work-items.
/// Throws UsageError if `range` exceeds CUDA's grid (2³¹ − 1 blocks along x, 65,535 along y and z) or block
/// (1024 threads, 64 along z).
std::optional<LaunchShape> launch_shape(const Range& range, const DeviceInfo& device);

}  // namespace peakmark
