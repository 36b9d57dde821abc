#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "device/device.hpp"

namespace peakmark {

/// How much memory of a device a program may use: bytes, a share of the device's memory, or what is free.
struct MemoryBudget {
  std::optional<Size> bytes;
  std::optional<int> percent;
  /// Of what is free, so much is left for contexts, library handles and fragmentation.
  std::optional<Size> reserve;
};

/// Reads `16GiB`, `90%`, `free` or `free-1GiB`. Throws UsageError for other text, and for bytes that are 0 or
/// more than kMaxBudget.
MemoryBudget parse_budget(std::string_view text);

/// A budget on a device, in bytes, and how it was computed; the text is empty for plain bytes.
struct ResolvedBudget {
  Size bytes = 0;
  std::string text;
};

/// Returns the budget on this device. `memory`: of the device now. Throws UsageError if the device does not
/// report what the budget is a part of, or nothing is left.
ResolvedBudget resolve_budget(const MemoryBudget& budget, const DeviceInfo& device,
                              const DeviceMemory& memory);
/// The same. Opens the device only to read its free memory.
ResolvedBudget resolve_budget(const MemoryBudget& budget, const DeviceInfo& device);

}  // namespace peakmark
