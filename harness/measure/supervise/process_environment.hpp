#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "measure/device/device.hpp"
#include "record/recorders/recorder_libraries.hpp"

namespace peakmark {

/// The environment in which a worker's allocations on a device are recorded. Its profiles, which only the
/// worker reads, are in a temporary folder. The destructor removes the folder.
class RecordingEnvironment {
 public:
  /// Throws RecorderError if there is no recorder for this device. `dry` has its own allocation log.
  /// `stacks`: the recorder keeps the call stack of every allocation.
  RecordingEnvironment(const DeviceInfo& device, std::vector<std::string> environment, bool stacks = false,
                       const MemoryLimits& limits = {});

  /// Returns the variables, each NAME=value.
  [[nodiscard]] const std::vector<std::string>& variables() const { return variables_; }

 private:
  std::vector<std::string> variables_;
  std::optional<ScratchFolder> folder_;
};

}  // namespace peakmark
