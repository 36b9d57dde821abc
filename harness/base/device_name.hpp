#pragma once

#include <string>

namespace peakmark {

/// Returns the part of a device's name that does not change when its driver is updated: two names belong to
/// the same device if their keys are equal. PoCL calls a CPU `pthread-TARGET-MODEL` up to version 4 and
/// `cpu-TARGET-MODEL` since version 5. TARGET is the processor's name in its LLVM, and a newer LLVM knows
/// newer processors.
std::string device_key(const std::string& name);

}  // namespace peakmark
