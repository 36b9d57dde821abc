#pragma once

#include <cstdint>

namespace peakmark {

/// The bytes of guards in each allocation that this thread makes at present (peakmark_guards() of marks.h).
inline thread_local std::int64_t guard_bytes = 0;

/// Returns what the program requests for itself in an allocation of `bytes`.
inline std::int64_t without_guards(std::int64_t bytes) {
  return bytes > guard_bytes ? bytes - guard_bytes : bytes;
}

}  // namespace peakmark
