#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "measure/device/device.hpp"

namespace peakmark {

/// How much memory of a device a program may use: bytes, a share of the device's memory, or its free memory.
struct MemoryBudget {
  std::optional<Size> bytes;
  std::optional<int> percent;
  /// The part of the free memory that is left for contexts, library handles and fragmentation. Null without
  /// bytes and percent: the measured reserve.
  std::optional<Size> reserve;

  [[nodiscard]] bool is_of_free_memory() const { return !bytes && !percent; }
  [[nodiscard]] bool needs_measured_reserve() const { return is_of_free_memory() && !reserve; }
};

/// Reads `16GiB`, `90%`, `free` or `free-1GiB`. Throws UsageError for other text, and for bytes that are 0 or
/// more than kMaxBudget.
MemoryBudget parse_budget(std::string_view text);

/// The part of a device's free memory that a process cannot use for its own allocations, as measured once.
/// Null: unknown.
struct MemoryReserve {
  std::optional<Size> free_bytes;     ///< before the measuring process opened the device
  std::optional<Size> context_bytes;  ///< used by that process for its context and a first kernel
  std::optional<Size> library_bytes;  ///< used by its cuBLAS handle; null without CUDA or cuBLAS
  /// The sum of its allocations until the device refused one; at most the free memory, else the device's
  /// memory.
  std::optional<Size> allocatable_bytes;
  std::string date;  ///< of the measurement

  /// Returns the bytes that were free and could not be allocated.
  [[nodiscard]] std::optional<Size> bytes() const;
  /// Returns the part of `bytes()` that belongs neither to the context nor to the library.
  [[nodiscard]] std::optional<Size> fragmentation_bytes() const;
};

/// Returns `412 MiB, measured on 2026-11-23 (context 300 MiB, fragmentation 112 MiB)`. `bytes()` must be
/// known.
std::string reserve_text(const MemoryReserve& reserve);

/// A budget on a device, in bytes, and how it was computed; the text is empty for plain bytes.
struct ResolvedBudget {
  Size bytes = 0;
  std::string text;
};

/// Returns the budget on this device. `memory`: the device's memory now. `reserve`: used only if the budget
/// needs a measured reserve. Throws UsageError if the device does not report the memory that the budget
/// refers to, if the reserve is unknown, or if nothing is left.
ResolvedBudget resolve_budget(const MemoryBudget& budget, const DeviceInfo& device,
                              const DeviceMemory& memory, const MemoryReserve& reserve = {});

}  // namespace peakmark
