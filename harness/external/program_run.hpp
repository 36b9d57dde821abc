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
  std::int64_t wall_ns = 0;  ///< from its start to its end
  std::string left_behind;   ///< what to say of processes that it left and that cannot be killed
  std::string last_words;    ///< the last lines that it wrote to standard error, or else to standard output

  [[nodiscard]] bool well() const { return end.exit_code == 0; }
};

/// When this process ends, even by a kill −9, so does all that is left in its process group, and every
/// process that was started to write its profile in that folder: what a program has started would hold the
/// device. Only for a process that leads a group of its own.
void guard_group(const std::filesystem::path& profiles);

/// Runs a program to its end, without a shell, in this process's group: whoever kills the group kills it too,
/// and it dies with this process. Its standard input is empty. What it started and left behind is killed, for
/// it would hold the device: of what has left the group only where adopt_orphans() was called.
/// EnvironmentError when there is no such program, IoError when it cannot be started.
ProgramEnd run_program(const std::vector<std::string>& command, const std::vector<std::string>& environment);

}  // namespace peakmark
