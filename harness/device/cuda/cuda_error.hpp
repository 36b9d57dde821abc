#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

namespace peakmark {

/// Nothing when `result` is success. Otherwise throws OutOfMemory (cleared: the context lives on),
/// Unsupported where the device cannot do it, or an Error that says whether the context is lost, in which
/// case the process must end. `what` is what was tried: "allocate 24 MiB".
void check_cuda(cudaError_t result, std::string_view what);

/// True when the context, and all that is on the device, is lost: every further call fails the same way.
bool is_context_lost(cudaError_t result);

/// Why there is no device, by cudaGetDeviceCount's answer and cudaDriverGetVersion's (0: no driver), which
/// the runtime's own texts mix up: without a driver it says that the driver is too old.
std::string cuda_absence(cudaError_t result, int driver_version);

/// True for the answers of a machine on which there is nothing to run on: no driver, a stub of it, one that
/// is too old, no device.
bool is_no_device(cudaError_t result);

}  // namespace peakmark
