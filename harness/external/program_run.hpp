#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "subprocess/worker_process.hpp"

namespace peakmark {

/// How a program ended.
struct ProgramEnd {
  WorkerEnd end;
  std::int64_t process = 0;             ///< its number
  std::int64_t wall_ns = 0;             ///< from its start to its end
  std::string left_behind;              ///< message about processes that it left and that cannot be killed
  std::vector<std::string> last_lines;  ///< that it wrote to standard error, or else to standard output

  [[nodiscard]] bool well() const { return end.exit_code == 0; }
  /// Returns the last lines as one.
  [[nodiscard]] std::string last_words() const;
};

/// Makes sure that when this process ends, even by a kill −9, every process of its group is killed, and every
/// process that was started to write a profile in that folder: processes that a program started would keep
/// the device busy. Only for the leader of a process group.
void guard_group(const std::filesystem::path& profiles);

/// Runs a program to its end, without a shell, in this process's group, with empty standard input. It is
/// killed with the group and with this process. Processes that it left behind are killed, since they would
/// keep the device busy; those that have left the group only if adopt_orphans() was called. After an end by
/// SIGINT, SIGTERM or SIGHUP it returns kSignalOfAJob later, unless the same signal ends this process. Throws
/// EnvironmentError if there is no such program, IoError if it cannot be started.
ProgramEnd run_program(const std::vector<std::string>& command, const std::vector<std::string>& environment);

}  // namespace peakmark
