#pragma once

#include <functional>
#include <optional>

#include "measure/device/device.hpp"

namespace peakmark {

/// Returns the largest size that `takes` accepts, at most the memory of the device: exact if it is the size
/// that the driver reports, else within 1 MiB. Null if the driver reports no memory size. Calls `takes` about
/// 25 times at most. Pure.
std::optional<Size> largest_allocation(const DeviceInfo& device, const std::function<bool(Size)>& takes);

/// Fills a memory of at most `limit` bytes: calls `takes` with sizes of at most `max_piece`, and halves the
/// size when one is refused. `takes` keeps the memory that it accepts. All sizes are multiples of 2 MiB.
/// Returns the accepted sum. Pure.
Size fill_memory(Size limit, Size max_piece, const std::function<bool(Size)>& takes);

/// The memory of a device that one process can use; null if the device does not report it.
struct FilledDevice {
  std::optional<Size> free_bytes;     ///< after the process has created its context and run a first kernel
  std::optional<Size> library_bytes;  ///< used by a cuBLAS handle; null without CUDA or cuBLAS
  std::optional<Size> allocatable_bytes;
};
/// Allocates until the device refuses, and releases all of it. Touches the memory as try_allocation() does.
/// Call it in a separate process: the context lives as long as the process, and the driver may crash.
FilledDevice fill_device(const DeviceInfo& device);

/// Creates a cuBLAS handle on the current CUDA device, as CUDA programs do. It lives until the process ends.
/// Returns false if cuBLAS cannot be loaded.
bool create_cublas_handle();

/// Allocates `bytes` on the device and writes the first and the last byte, since drivers may allocate lazily.
/// Returns false if the device refuses. Writes nothing in between: on a CPU those pages stay unused. Call it
/// in a separate process, since a driver may crash.
bool try_allocation(const DeviceInfo& device, Size bytes);

}  // namespace peakmark
