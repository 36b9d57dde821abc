#pragma once

#include <string>

namespace peakmark {

/// Returns the part of a device's name that stays when its driver is updated: two names are of the same
/// device if their keys are equal. PoCL calls a CPU `pthread-TARGET-MODEL` up to version 4 and
/// `cpu-TARGET-MODEL` since 5, and TARGET is what its LLVM calls the processor: a newer LLVM knows newer
/// ones.
std::string device_key(const std::string& name);

}  // namespace peakmark
