#pragma once

#include <string>
#include <vector>

#include "measure/device/memory_budget.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark {

/// Returns the command `peakmark doctor` for one device, with hidden options, as a child process runs it.
WorkerCommand probe_command(const DeviceInfo& device, std::vector<std::string> options);

/// Measures how much of the device's free memory no program can allocate, by filling it in a child process.
/// Waits for runs on the device, which would find it full. Stores the result in a file of the user for
/// known_reserve(). Unknown figures are null, also if the child crashed. Throws IoError if the result cannot
/// be stored.
MemoryReserve measure_reserve(const DeviceInfo& device);

/// Returns the stored reserve of this device with its present driver; measures it if there is none.
MemoryReserve known_reserve(const DeviceInfo& device);

/// Returns the budget on this device. Opens the device only to read its free memory. Throws as
/// resolve_budget() does.
ResolvedBudget resolve_budget_on(const MemoryBudget& budget, const DeviceInfo& device);

/// Returns the budget on this device, whose memory the caller has read.
ResolvedBudget resolve_budget_on(const MemoryBudget& budget, const DeviceInfo& device,
                                 const DeviceMemory& memory);

/// Returns the output of doctor's child process, which measure_reserve() reads: the memory that it got, as
/// JSON.
std::string filled_json(const DeviceInfo& device);

}  // namespace peakmark
