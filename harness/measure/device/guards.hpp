#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

// Guards: bytes of a known pattern before and after an array. A kernel that writes outside of the array
// changes them. The functions here know the pattern and the message; Device allocates, fills and reads.

/// The bytes of each of the two guards. A multiple of the alignment that sub-buffers need on any device
/// (CL_DEVICE_MEM_BASE_ADDR_ALIGN is at most 4096 bytes).
inline constexpr Size kGuardBytes = 4096;

/// Which of two patterns a guard has. They differ in every bit, so no write leaves both unchanged.
enum class GuardFill : bool { plain, inverted };

/// An array with guards.
struct GuardedArray {
  std::string name;
  Size number = 0;  ///< from 1, in the order in which the arrays were created
  Size bytes = 0;
  GuardFill fill{};
};

/// Returns the bytes of both guards of an array, first those before it. They are random, so a constant
/// changes them, and differ from array to array, so that a kernel that copies one element too many changes
/// them.
std::vector<std::byte> guard_pattern(const GuardedArray& array);

/// Returns `array 'tmp' (number 3, 16 KiB): bytes 0 to 3 after its end were overwritten`; null if both guards
/// have the pattern.
std::optional<std::string> overwritten_text(const GuardedArray& array, std::span<const std::byte> before,
                                            std::span<const std::byte> after);

}  // namespace peakmark
