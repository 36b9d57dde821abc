#pragma once

#include <cstddef>

#include "profile/event.hpp"

namespace peakmark {

/// Size of an array with a place for each kind: more than MemoryKind has.
inline constexpr std::size_t kKindSlots = 32;

/// Returns the place of a kind in such an array; a number that is not known shares that of `none`.
constexpr std::size_t slot_of(MemoryKind kind) {
  const auto number = static_cast<std::size_t>(kind);
  return number < kKindSlots ? number : 0;
}

}  // namespace peakmark
