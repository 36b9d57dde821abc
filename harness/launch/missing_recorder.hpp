#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/program_watch.hpp"
#include "recorders/recorder_libraries.hpp"

namespace peakmark {

/// What is known once a program has ended in which no recorder came up.
struct MissingRecorder {
  RecorderLibraries libraries;
  std::optional<std::filesystem::path> static_program;  ///< the program, where nothing can be loaded into it
  std::map<pid_t, SeenProcess> seen;
  std::set<pid_t> still_running;  ///< processes of the program that live on
  int program_code = 0;
  std::optional<std::filesystem::path> script_with_marks = std::nullopt;  ///< script_that_imports_peakmark()
};

/// The Python script of a command that imports the module `peakmark`, for phases and names.
std::optional<std::filesystem::path> script_that_imports_peakmark(const std::vector<std::string>& command);

/// One line: why no recorder came up, and what to do. The surest reason wins: what is wrong with the
/// recorders, then with the program, then what was seen of its processes while they ran, then what this
/// system lacks.
std::string why_no_recorder(const MissingRecorder& evidence);

/// Whether this loader of OpenCL knows layers: then it reads OPENCL_LAYERS, and has that name in itself.
bool knows_layers(const std::filesystem::path& loader);

}  // namespace peakmark
