#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "record/subprocess/worker_process.hpp"

namespace peakmark {

/// How a program ended.
struct ProgramEnd {
  WorkerEnd end;
  std::int64_t process = 0;  ///< process id
  std::int64_t wall_ns = 0;  ///< from its start to its end
  std::string left_behind;   ///< message about processes that it left behind and that cannot be killed
  std::vector<std::string> last_lines;  ///< of standard error, or else of standard output

  [[nodiscard]] bool well() const { return end.exit_code == 0; }
  /// Returns the last lines, joined to one.
  [[nodiscard]] std::string last_words() const;
};

/// Ensures that when this process ends, even by kill −9, every process of its group is killed, and every
/// process that was started to write a profile in that folder: such processes would keep the device busy.
/// Only for the leader of a process group.
void guard_group(const std::filesystem::path& profiles);

/// Runs a program to its end, without a shell, in this process's group, with empty standard input. It is
/// killed with the group and when this process ends. Processes that it left behind are killed, since they
/// would keep the device busy; those outside the group only if adopt_orphans() was called. If the program was
/// ended by SIGINT, SIGTERM or SIGHUP, this function waits for kSignalOfAJob before it returns, in case the
/// same signal ends this process, too. Throws EnvironmentError if there is no such program, IoError if it
/// cannot be started.
ProgramEnd run_program(const std::vector<std::string>& command, const std::vector<std::string>& environment);

}  // namespace peakmark
