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
  /// Of what is free, so much is left for contexts, library handles and fragmentation. Null with neither
  /// bytes nor percent: what was measured.
  std::optional<Size> reserve;

  [[nodiscard]] bool is_of_free_memory() const { return !bytes && !percent; }
  [[nodiscard]] bool needs_measured_reserve() const { return is_of_free_memory() && !reserve; }
};

/// Reads `16GiB`, `90%`, `free` or `free-1GiB`. Throws UsageError for other text, and for bytes that are 0 or
/// more than kMaxBudget.
MemoryBudget parse_budget(std::string_view text);

/// What of a device's free memory is not for a process's own allocations, as measured once. Null: unknown.
struct MemoryReserve {
  std::optional<Size> free_bytes;     ///< before the measuring process opened the device
  std::optional<Size> context_bytes;  ///< of that process: its context and a first kernel
  std::optional<Size> library_bytes;  ///< of its handle of cuBLAS; null without CUDA or cuBLAS
  /// The sum of its allocations, made until the device refused; at most what was free, else the device's
  /// memory.
  std::optional<Size> allocatable_bytes;
  std::string date;  ///< of the measurement

  /// Returns what was free and could not be allocated.
  [[nodiscard]] std::optional<Size> bytes() const;
  /// Returns the part of it that belongs to neither context nor library.
  [[nodiscard]] std::optional<Size> fragmentation_bytes() const;
};

/// Returns `412 MiB, measured on 2026-11-23 (context 300 MiB, fragmentation 112 MiB)`. `bytes()` is known.
std::string reserve_text(const MemoryReserve& reserve);

/// A budget on a device, in bytes, and how it was computed; the text is empty for plain bytes.
struct ResolvedBudget {
  Size bytes = 0;
  std::string text;
};

/// Returns the budget on this device. `memory`: of the device now. `reserve` is read if the budget needs a
/// measured one. Throws UsageError if the device does not report what the budget is a part of, the reserve is
/// unknown, or nothing is left.
ResolvedBudget resolve_budget(const MemoryBudget& budget, const DeviceInfo& device,
                              const DeviceMemory& memory, const MemoryReserve& reserve = {});

}  // namespace peakmark
