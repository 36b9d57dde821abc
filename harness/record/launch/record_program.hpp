#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "record/recorders/recorder_libraries.hpp"

namespace peakmark {

struct RecordRequest {
  std::vector<std::string> command;  ///< the program, which is looked up in PATH, and its arguments
  std::filesystem::path profile;     ///< NAME; an earlier recording of that name is removed first
  bool sync = false;    ///< finish the queue after each enqueue, so that the peak is the same in every run
  bool stacks = false;  ///< record the call stack of each allocation
  int repeat_call = 0;  ///< value of PEAKMARK_REPEAT_CALL for the program; 0: not set
  std::uint64_t max_bytes = 0;  ///< limit of each profile; 0: 64 GiB
  MemoryLimits limits = {};     ///< of each device, for each process of the program
  /// A refused allocation fails at its first use, not when it is created (OpenCL).
  bool refuses_at_use = false;
  /// Folds the events of the profiles while the program runs (ProfileFolding). Sets PEAKMARK_COMPACT=1 in the
  /// program's environment.
  bool compact = false;
  std::function<void(const std::string&)> warn = {};  ///< called with one line while the program runs
  /// How long to wait for a stuck program: after two requests to end, and after SIGKILL.
  std::chrono::milliseconds stuck_limit{2'000};
  std::chrono::milliseconds kill_limit{20'000};
  bool output_to_stderr = false;  ///< redirect the program's standard output to standard error
};

struct Recording {
  int program_code = 0;  ///< exit code of the program; 128 + signal; 126 or 127: it did not start
  std::optional<std::filesystem::path> profile;  ///< NAME, if a recorder was loaded into the program
  std::vector<std::filesystem::path> others;     ///< NAME.<pid> of further processes
  std::string error;                             ///< one line: why the recording is missing or incomplete
  std::string compact_error;                     ///< one line: why `compact` could not keep profiles small
  int signal = 0;                                ///< the signal that ended the program; 0: none
  bool interrupted = false;  ///< this process received SIGINT or another signal that asks it to end
};

/// Runs a program under the recorders, with this process's standard streams, and waits for its end. Signals
/// that this process receives meanwhile are forwarded to the program. The program's own profile gets the name
/// `profile`; if only its children wrote profiles (a shell script), the first of these gets it. A program
/// that is stuck (is_stuck) after two requests to end is abandoned, with `error`. Throws IoError if the
/// profile cannot be written, and UsageError if a file of that name exists that is not a profile.
Recording record_program(const RecordRequest& request, const RecorderLibraries& libraries);

}  // namespace peakmark
