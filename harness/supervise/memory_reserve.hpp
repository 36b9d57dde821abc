#pragma once

#include <string>
#include <vector>

#include "device/memory_budget.hpp"
#include "subprocess/worker_process.hpp"

namespace peakmark {

/// Returns `peakmark doctor` in a child process, with options that a user does not see, for one device.
WorkerCommand probe_command(const DeviceInfo& device, std::vector<std::string> options);

/// Measures what of the device's free memory no program can allocate, by filling it in a child process. Waits
/// for runs on the device, which would find it full. Keeps the answer in a file of the user for
/// known_reserve(). What is unknown is null, also if the child crashed. Throws IoError if it cannot be kept.
MemoryReserve measure_reserve(const DeviceInfo& device);

/// Returns what was measured of this device with its present driver, else measures it.
MemoryReserve known_reserve(const DeviceInfo& device);

/// Returns the budget on this device. Opens it only to read its free memory. Throws as the pure one.
ResolvedBudget resolve_budget_on(const MemoryBudget& budget, const DeviceInfo& device);

/// The same with the memory that was read.
ResolvedBudget resolve_budget_on(const MemoryBudget& budget, const DeviceInfo& device,
                                 const DeviceMemory& memory);

/// What doctor's child process prints, and measure_reserve() reads: what it got of the device, as JSON.
std::string filled_json(const DeviceInfo& device);

}  // namespace peakmark
