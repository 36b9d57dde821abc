#pragma once

#include <filesystem>
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

/// A Python that runs programs or estimators of a suite.
struct PythonEnvironment {
  std::filesystem::path interpreter;
  std::optional<std::filesystem::path> folder;  ///< none: the system's own
};

/// `name`: a folder under $PEAKMARK_ENVIRONMENTS (build/environments where that is not set), with a `/` one
/// from `suite_folder`; empty: python3 of $PATH. EnvironmentError when it is not there, with the command that
/// makes it: `made_by`, or else the general one.
PythonEnvironment find_python(const std::string& name, const std::filesystem::path& suite_folder,
                              const std::string& made_by);

/// Lets a process be of this Python: its programs come first in PATH. The module `peakmark` comes first in
/// PYTHONPATH: marks and recorder are then of one release.
void add_python(std::vector<std::string>& environment, const PythonEnvironment& python);

}  // namespace peakmark
