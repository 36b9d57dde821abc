#pragma once

#include <functional>
#include <optional>

#include "device/device.hpp"

namespace peakmark {

/// Returns the largest size that `takes` accepts, at most the memory of the device: exact if it is what the
/// driver reports, else within 1 MiB. Null if the driver reports no memory size. `takes` is called with a
/// size at most about 25 times. Pure.
std::optional<Size> largest_allocation(const DeviceInfo& device, const std::function<bool(Size)>& takes);

/// Fills a memory of at most `limit` bytes: calls `takes` with sizes of at most `max_piece`, of which it
/// keeps those that it accepts, and halves the size when one is refused. All are multiples of 2 MiB. Returns
/// the sum that was accepted. Pure.
Size fill_memory(Size limit, Size max_piece, const std::function<bool(Size)>& takes);

/// What a process gets of a device; null where the device does not report it.
struct FilledDevice {
  std::optional<Size> free_bytes;     ///< once its context and a first kernel are loaded
  std::optional<Size> library_bytes;  ///< that a handle of cuBLAS took; null without CUDA or cuBLAS
  std::optional<Size> allocatable_bytes;
};
/// Allocates until the device refuses, and releases all of it. Writes as try_allocation() does. Call it in a
/// process of its own: its context is that of the process, and the driver may crash.
FilledDevice fill_device(const DeviceInfo& device);

/// Makes a handle of cuBLAS on the current CUDA device, as CUDA programs do, which stays until the process
/// ends. Returns false if no cuBLAS can be loaded.
bool create_cublas_handle();

/// Allocates `bytes` on the device and writes the first and the last byte, since drivers may allocate lazily.
/// Returns false if the device refuses. Touches nothing in between: on a CPU the pages stay unused. Call it
/// in a process of its own, since a driver may crash.
bool try_allocation(const DeviceInfo& device, Size bytes);

}  // namespace peakmark
