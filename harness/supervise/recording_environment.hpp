#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "device/device.hpp"
#include "recorders/recorder_libraries.hpp"

namespace peakmark {

/// The environment in which a worker's allocations on a device are recorded. The profiles, which only the
/// worker itself reads, stand in a folder for temporary files and go with this object.
class RecordingEnvironment {
 public:
  /// RecorderError when there is no recorder for this device. `dry` keeps its own allocation_log.
  RecordingEnvironment(const DeviceInfo& device, std::vector<std::string> environment);

  /// NAME=value each.
  [[nodiscard]] const std::vector<std::string>& variables() const { return variables_; }

 private:
  std::vector<std::string> variables_;
  std::optional<ScratchFolder> folder_;
};

}  // namespace peakmark
