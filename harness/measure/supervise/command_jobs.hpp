#pragma once

#include <string>
#include <vector>

namespace peakmark {

/// Runs `peakmark WORDS…` for each list of words, all at the same time, and returns what they print. Throws
/// Interrupted after a signal, and the error of the first command without a report (exit codes 0, 1 and 4);
/// before that, it ends the commands and the processes that they started.
std::vector<std::string> run_command_jobs(const std::vector<std::vector<std::string>>& commands);

}  // namespace peakmark
