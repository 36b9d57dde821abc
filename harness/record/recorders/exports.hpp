#pragma once

#include <cstdint>

#include "record/recorders/profile_writer.hpp"

#define PEAKMARK_EXPORT __attribute__((visibility("default")))
namespace peakmark {

// exports.cpp is compiled into each recorder and exports the C interface of marks.h. Each recorder must
// define the following functions.

/// Returns the recorder's profile, even if nothing is recorded.
ProfileWriter& recorder_profile();
bool is_recording();
/// Waits until the devices have finished the work that this process enqueued. Returns null, or the reason why
/// it did not wait.
const char* synchronise_devices();

/// The bytes of guards in each allocation that this thread makes at present (peakmark_guards() of marks.h).
inline thread_local std::int64_t guard_bytes = 0;

/// Returns what the program requests for itself in an allocation of `bytes`.
inline std::int64_t without_guards(std::int64_t bytes) {
  return bytes > guard_bytes ? bytes - guard_bytes : bytes;
}

}  // namespace peakmark
