#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace peakmark {

/// The Python that runs programs or estimators of a suite.
struct PythonEnvironment {
  std::filesystem::path interpreter;
  std::optional<std::filesystem::path> folder;  ///< null: the system's Python
};

/// Finds a Python environment. `name`: a folder in $PEAKMARK_ENVIRONMENTS (by default build/environments);
/// with a `/` it is relative to `suite_folder`; empty: python3 from $PATH. It may also be an interpreter: a
/// path with a `/`, or a program such as python3.11 in $PATH. If it is missing, throws EnvironmentError with
/// the command that creates it: `made_by`, else the general one.
PythonEnvironment find_python(const std::string& name, const std::filesystem::path& suite_folder,
                              const std::string& made_by);

/// Adds a Python to the environment of a process: its programs come first in PATH, and the module `peakmark`
/// in PYTHONPATH, so that marks and recorder come from the same release.
void add_python(std::vector<std::string>& environment, const PythonEnvironment& python);

}  // namespace peakmark
