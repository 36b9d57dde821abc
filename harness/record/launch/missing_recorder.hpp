#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "record/launch/program_watch.hpp"
#include "record/recorders/recorder_libraries.hpp"

namespace peakmark {

/// What is known about a program that has ended without any recorder.
struct MissingRecorder {
  RecorderLibraries libraries;
  std::optional<std::filesystem::path> static_program;  ///< the program, if it is linked statically
  std::map<pid_t, SeenProcess> seen;
  std::set<pid_t> still_running;  ///< processes of the program that are still running
  int program_code = 0;
  std::optional<std::filesystem::path> script_with_marks =
      std::nullopt;  ///< result of script_that_imports_peakmark()
};

/// Returns the Python script in a command that imports the module `peakmark`.
std::optional<std::filesystem::path> script_that_imports_peakmark(const std::vector<std::string>& command);

/// Returns one line: why no recorder was loaded, and what to do. The most certain reason wins: errors of the
/// recorders, then of the program, then observations of its processes, then what is missing on this system.
std::string why_no_recorder(const MissingRecorder& evidence);

}  // namespace peakmark
