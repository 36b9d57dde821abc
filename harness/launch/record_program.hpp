#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recorders/recorder_libraries.hpp"

namespace peakmark {

/// Follows a recording while its program runs.
class RecordingFollower {
 public:
  virtual ~RecordingFollower() = default;
  /// The program has just started; `name` is absolute, and has no profiles of an earlier recording.
  virtual void begin(const std::filesystem::path& name) = 0;
  /// The program has ended; its profiles still have their names NAME.<pid>.
  virtual void end() = 0;
};

struct RecordRequest {
  std::vector<std::string> command;  ///< the program and its arguments; the program is looked up in PATH
  std::filesystem::path profile;  ///< NAME; profiles of an earlier recording of that name are removed first
  bool sync = false;              ///< finish the queue after each enqueue, so that the peak repeats
  bool stacks = false;            ///< each allocation brings its call stack
  std::uint64_t max_bytes = 0;    ///< of each profile; 0: no limit but 64 GiB
  /// Not null: events are removed from the profiles while the program runs (PEAKMARK_COMPACT=1 tells it).
  RecordingFollower* compacting = nullptr;
  std::function<void(const std::string&)> warn = {};  ///< called with one line while the program runs
  /// How long a program that was asked to end twice, or was killed, may be stuck before nobody waits for it.
  std::chrono::milliseconds stuck_limit{2'000};
  std::chrono::milliseconds kill_limit{20'000};
  bool output_to_stderr = false;  ///< the program's standard output goes where its messages go
};

struct Recording {
  int program_code = 0;                          ///< of the program; 128 + signal; 126, 127: it did not start
  std::optional<std::filesystem::path> profile;  ///< NAME, when a recorder came up in the program
  std::vector<std::filesystem::path> others;     ///< NAME.<pid> of further processes
  std::string trouble;                           ///< one line, when there is no whole recording: why
  int signal = 0;                                ///< that ended the program; 0: it ended by itself
  bool interrupted = false;  ///< this process was told to end meanwhile (SIGINT and the like)
};

/// Runs a program under the recorders, with this process's standard streams, and waits for its end. Signals
/// that this process gets meanwhile reach the program. The program's own profile gets the name `profile`;
/// where it wrote none but its children did (a shell script), that of the first of them does. A program that
/// was asked to end twice and is stuck (is_stuck) is left behind, with `trouble`. Throws IoError when the
/// profile cannot be written there, UsageError when a file that is no profile has its name.
Recording record_program(const RecordRequest& request, const RecorderLibraries& libraries);

}  // namespace peakmark
